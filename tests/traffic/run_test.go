package traffic_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/deliver/stripesign"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
	"github.com/paidonce/paidonce/internal/testing/traffic"
)

const (
	secret  = "whsec_traffic"
	clients = 16
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// watched is the handler's database, and counts the errors that the handler would retry in silence.
type watched struct {
	webhook.Querier
	mu     sync.Mutex
	errors map[string]int
}

type watchedRow struct {
	pgx.Row
	w *watched
}

func (w *watched) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return watchedRow{w.Querier.QueryRow(ctx, sql, args...), w}
}

func (r watchedRow) Scan(to ...any) error {
	err := r.Row.Scan(to...)
	if err != nil {
		name := err.Error()
		var failure *pgconn.PgError
		if errors.As(err, &failure) {
			name = failure.Code + " " + failure.Message
		}
		r.w.mu.Lock()
		defer r.w.mu.Unlock()
		r.w.errors[name]++
	}
	return err
}

// played is what became of a delivery of many events.
type played struct {
	answers   map[string]int // "200 processed" and the like
	hidden    map[string]int // database errors that the handler met
	deadlocks int64
	failedRun int // calls of the worker's that failed
}

// play delivers the events from so many connections at once, each in its turn, and drains what is left to the worker.
func play(t *testing.T, db *pgtest.DB, events []traffic.Event, connections int) played {
	t.Helper()
	ctx := t.Context()
	pool, err := database.Open(ctx, db.Login(t, "paidonce_edge"), database.Options{MaxConns: int32(connections)})
	require.NoError(t, err)
	defer pool.Close()
	w := &watched{Querier: pool, errors: map[string]int{}}
	handler, err := webhook.New(webhook.Options{Secrets: []string{secret}, DB: w, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	defer server.Close()
	client := server.Client()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = connections

	worker := db.Superuser(t)
	has, err := traffic.HasWorker(ctx, worker)
	require.NoError(t, err)
	var p played
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		if has {
			_, p.failedRun = traffic.Work(ctx, worker, stop)
		}
	}()

	p.answers = map[string]int{}
	var mu sync.Mutex
	var next atomic.Int64
	var group sync.WaitGroup
	for range connections {
		group.Go(func() {
			for {
				at := int(next.Add(1)) - 1
				if at >= len(events) {
					return
				}
				answer := post(ctx, client, server.URL, events[at].Body)
				mu.Lock()
				p.answers[answer]++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	close(stop)
	<-stopped
	if has {
		_, err := traffic.Drain(ctx, worker)
		require.NoError(t, err)
	}

	// A connection tells its deadlocks when it ends, if not before.
	server.Close()
	pool.Close()
	require.Eventually(t, func() bool {
		return pgtest.One[bool](t, db, "select count(*) = 0 from pg_stat_activity where datname = current_database() and usename = 'paidonce_edge'")
	}, 10*time.Second, 10*time.Millisecond)
	p.hidden = w.errors
	p.deadlocks = pgtest.One[int64](t, db, "select deadlocks from pg_stat_database where datname = current_database()")
	return p
}

func post(ctx context.Context, client *http.Client, url string, body []byte) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set(stripesign.Header, stripesign.Sign(body, secret, time.Now()))
	res, err := client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct{ Outcome string }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return res.Status + " " + err.Error()
	}
	return res.Status[:3] + " " + answer.Outcome
}
