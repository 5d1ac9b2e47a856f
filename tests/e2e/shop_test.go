package e2e_test

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/deliver/stripesign"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const secret = "whsec_e2e"

//go:embed testdata/app.sql
var appSQL string

//go:embed testdata/check.sql
var checkSQL string

// shop is a database with the tests' application in it and a webhook handler in front.
type shop struct {
	t      testing.TB
	db     *pgtest.DB
	url    string
	client *http.Client
}

// openShop makes a shop of its own for the test.
func openShop(t testing.TB) *shop {
	t.Helper()
	db := pgtest.New(t)
	db.Exec(t, appSQL)
	s := &shop{t: t, db: db, client: newClient(t)}
	s.url = listen(t, s.handler(secret)).URL
	return s
}

func newClient(t testing.TB) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// handler makes one more handler, with a pool of its own in the role that has the least rights.
func (s *shop) handler(secrets ...string) http.Handler {
	s.t.Helper()
	return newHandler(s.t, s.db.Login(s.t, "paidonce_edge"), secrets...)
}

func newHandler(t testing.TB, url string, secrets ...string) http.Handler {
	t.Helper()
	pool, err := database.Open(t.Context(), url, database.Options{MaxConns: 16})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	h, err := webhook.New(webhook.Options{Secrets: secrets, DB: pool, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return h
}

func listen(t testing.TB, h http.Handler) *httptest.Server {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

// answer is what the sender of a delivery sees.
type answer struct {
	Status  int    `json:"-"`
	Outcome string `json:"outcome"`
	Error   string `json:"error"`
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.Status, a.Outcome) }

// deliver signs an event now and posts it. No answer at all has status 0.
func (s *shop) deliver(e event) answer { return s.deliverTo(s.url, secret, e.body()) }

func (s *shop) deliverTo(url, key string, body []byte) answer {
	return post(s.client, url, body, stripesign.Sign(body, key, time.Now()))
}

func post(client *http.Client, url string, body []byte, signature string) answer {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return answer{Error: err.Error()}
	}
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	if signature != "" {
		r.Header.Set(stripesign.Header, signature)
	}
	res, err := client.Do(r)
	if err != nil {
		return answer{Error: err.Error()}
	}
	defer func() { _ = res.Body.Close() }()
	a := answer{}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{Error: err.Error()}
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return answer{Error: err.Error()}
	}
	a.Status = res.StatusCode
	return a
}

// together runs all of them at once and returns what each returned.
func together[T any](all ...func() T) []T {
	out := make([]T, len(all))
	gate := make(chan struct{})
	var group sync.WaitGroup
	for i, run := range all {
		group.Go(func() {
			<-gate
			out[i] = run()
		})
	}
	close(gate)
	group.Wait()
	return out
}

// times makes n of the same.
func times[T any](n int, run func() T) []func() T {
	all := make([]func() T, n)
	for i := range all {
		all[i] = run
	}
	return all
}

// parallel delivers all events at once.
func (s *shop) parallel(events ...event) []answer {
	all := make([]func() answer, len(events))
	for i, e := range events {
		all[i] = func() answer { return s.deliver(e) }
	}
	return together(all...)
}

// tally counts the answers by status and outcome.
func tally(answers []answer) map[string]int {
	out := map[string]int{}
	for _, a := range answers {
		out[a.String()]++
	}
	return out
}

func (s *shop) requireAnswer(want string, e event) {
	s.t.Helper()
	got := s.deliver(e)
	require.Equal(s.t, want, got.String(), got.Error)
}

// status is what the database says of an event, empty when it has none.
func (s *shop) status(e event) string {
	s.t.Helper()
	pgtest.RunDueNow(s.t, s.db.Pool)
	return pgtest.One[string](s.t, s.db, "select coalesce((select status from paidonce.events where event_id = $1), '')", e.id)
}

func (s *shop) count(from string, args ...any) int {
	s.t.Helper()
	pgtest.RunDueNow(s.t, s.db.Pool)
	return pgtest.One[int](s.t, s.db, "select count(*) from "+from, args...)
}

// requireSound ends every story: what is processed has its effects, once, and nothing else has any.
func (s *shop) requireSound() {
	s.t.Helper()
	pgtest.RunDue(s.t, s.db.Pool)
	requireSound(s.t, s.db.Pool)
}

func requireSound(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	type fault struct{ Fault, Subject string }
	rows, err := pool.Query(t.Context(), checkSQL)
	require.NoError(t, err)
	faults, err := pgx.CollectRows(rows, pgx.RowToStructByPos[fault])
	require.NoError(t, err)
	require.Empty(t, faults)
}

// requireWaiting waits until n sessions of the database wait for a lock.
func (s *shop) requireWaiting(n int) {
	s.t.Helper()
	watch := s.db.Superuser(s.t)
	require.Eventually(s.t, func() bool {
		var waiting int
		err := watch.QueryRow(context.Background(), `
			select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waiting)
		return err == nil && waiting == n
	}, 5*time.Second, 5*time.Millisecond, "sessions that wait for a lock")
}
