package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/deliver/stripesign"
	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// ask makes a request on a connection of its own.
func ask(t *testing.T, method, url, signature, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewBufferString(body))
	require.NoError(t, err)
	request.Close = true
	if signature != "" {
		request.Header.Set(stripesign.Header, signature)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(answer)
}

// asleep counts the deliveries that are in the middle of a slow effect. Only a superuser sees what the
// sessions of other roles wait for.
func asleep(t *testing.T, superuser *pgx.Conn) int {
	t.Helper()
	n := -1
	_ = superuser.QueryRow(t.Context(),
		`select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`).Scan(&n)
	return n
}

func TestServe(t *testing.T) {
	t.Parallel()

	t.Run("given two handlers on one database when one event comes fifty times then it has one set of effects", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		app(t, db)
		url := edge(t, db)
		_, first := serve(t, url)
		_, second := serve(t, url)

		out := succeed(t, nil, send(first, "--url", second, "--times", "50", "--parallel", "20", "--json", eventFile(t, "evt_1", "invoice.paid", invoice))...)
		var report struct {
			Events []struct {
				Delivered int
				Answers   []map[string]any
			}
		}
		require.NoError(t, json.Unmarshal([]byte(out), &report))
		require.Equal(t, 50, report.Events[0].Delivered)
		require.Equal(t, []map[string]any{
			{"status": 200.0, "outcome": "processed", "times": 1.0},
			{"status": 200.0, "outcome": "duplicate", "times": 49.0},
		}, report.Events[0].Answers)
		require.EqualValues(t, 1, count(t, db, "paidonce.events where status = 'processed'"))
		require.EqualValues(t, 50, count(t, db, "paidonce.deliveries"))
		require.EqualValues(t, 1, count(t, db, "app.bookings"))
		require.EqualValues(t, 1, count(t, db, "paidonce.outbox where action = 'email.receipt'"))
		for _, u := range []string{first, second} {
			_, metrics := ask(t, http.MethodGet, strings.TrimSuffix(u, "/webhooks/stripe")+"/metrics", "", "")
			require.Contains(t, metrics, `outcome="duplicate"`, "both handlers must have taken part")
		}
	})

	t.Run("given a slow delivery in flight when terminated then it is finished and the exit code is 0", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		app(t, db)
		db.Exec(t, `update app.mood set seconds = 2`)
		superuser := db.Superuser(t)
		p, url := serve(t, edge(t, db))
		sent := make(chan ran, 1)
		file := eventFile(t, "evt_1", "invoice.paid", invoice)
		go func() { sent <- execute(t, nil, send(url, file)...) }()
		require.Eventually(t, func() bool { return asleep(t, superuser) == 1 }, 20*time.Second, 20*time.Millisecond)

		p.signal(t, syscall.SIGTERM)
		r := <-sent
		require.Zero(t, r.code, r.err)
		require.Contains(t, r.out, "1 × 200 processed")
		require.NoError(t, p.wait(t, 10*time.Second))
		require.EqualValues(t, 1, count(t, db, "app.bookings"))
		require.Contains(t, p.text(), "nothing was left in flight")
		require.Equal(t, 1, execute(t, nil, send(url, file)...).code, "nobody listens any more")
	})

	t.Run("given a delivery longer than the grace when terminated then it is cut, the exit code is 1 and nothing is half done", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		app(t, db)
		db.Exec(t, `update app.mood set seconds = 3`)
		superuser := db.Superuser(t)
		p, url := serve(t, edge(t, db), "--grace", "200ms")
		sent := make(chan ran, 1)
		file := eventFile(t, "evt_1", "invoice.paid", invoice)
		go func() { sent <- execute(t, nil, send(url, file)...) }()
		require.Eventually(t, func() bool { return asleep(t, superuser) == 1 }, 20*time.Second, 20*time.Millisecond)
		p.signal(t, os.Interrupt)
		require.Equal(t, 1, (<-sent).code)
		require.ErrorContains(t, p.wait(t, 10*time.Second), "exit status 1")
		require.Contains(t, p.text(), "still in flight")
		// Postgres may go on for a moment without its client; either way the event and its effect agree.
		require.Eventually(t, func() bool { return asleep(t, superuser) == 0 }, 20*time.Second, 20*time.Millisecond)
		require.Equal(t, count(t, db, "paidonce.events where status = 'processed'"), count(t, db, "app.bookings"))
	})

	t.Run("given a database without the schema when asked then it lives, is not ready, and says what to do", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		p, url := serve(t, db.URL("postgres"))
		base := strings.TrimSuffix(url, "/webhooks/stripe")
		status, _ := ask(t, http.MethodGet, base+"/healthz", "", "")
		require.Equal(t, 200, status)
		status, body := ask(t, http.MethodGet, base+"/readyz", "", "")
		require.Equal(t, 503, status)
		require.Contains(t, body, "paidonce migrate up")
		require.Eventually(t, func() bool { return strings.Contains(p.text(), "not ready") }, 10*time.Second, 10*time.Millisecond)
		r := execute(t, nil, send(url, eventFile(t, "evt_1", "invoice.paid", invoice))...)
		require.Equal(t, 1, r.code)
		require.Contains(t, r.out, "1 × 503")
		p.signal(t, syscall.SIGTERM)
		require.NoError(t, p.wait(t, 10*time.Second))
	})

	t.Run("given two secrets when one event comes signed with each then both are accepted, and a third is not", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		app(t, db)
		env := append(at(edge(t, db)), "STRIPE_WEBHOOK_SECRET=whsec_old, "+secret+"\n")
		p := start(t, command(t, env, "serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--no-worker"))
		var entry struct{ Addr string }
		require.Eventually(t, func() bool {
			line, _, whole := strings.Cut(p.text(), "\n")
			return whole && json.Unmarshal([]byte(line), &entry) == nil && entry.Addr != ""
		}, 20*time.Second, 10*time.Millisecond)
		url := "http://" + entry.Addr + "/webhooks/stripe"
		file := eventFile(t, "evt_1", "invoice.paid", invoice)
		require.Contains(t, succeed(t, nil, send(url, file)...), "200 processed")
		require.Contains(t, succeed(t, nil, "send", "--secret", "whsec_old", "--url", url, file), "200 duplicate")
		require.Equal(t, 1, execute(t, nil, "send", "--secret", "whsec_third", "--url", url, file).code)
		require.EqualValues(t, 2, count(t, db, "paidonce.deliveries"))
		require.NotContains(t, p.text(), secret)
	})

	t.Run("given an event of two days ago that failed when replayed then it is applied although its signature is too old", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		app(t, db)
		db.Exec(t, `update app.mood set reason = 'the bookkeeping is down'`)
		_, url := serve(t, edge(t, db))
		twoDaysAgo := time.Now().Add(-48 * time.Hour)
		body := fmt.Sprintf(`{"id":"evt_old","object":"event","type":"invoice.paid","created":%d,"data":{"object":%s}}`, twoDaysAgo.Unix(), invoice)
		status, _ := ask(t, http.MethodPost, url, stripesign.Sign([]byte(body), secret, time.Now()), body)
		require.Equal(t, 500, status)
		db.Exec(t, `update paidonce.events set received_at = received_at - interval '2 days'`)
		db.Exec(t, `update app.mood set reason = null`)

		status, _ = ask(t, http.MethodPost, url, stripesign.Sign([]byte(body), secret, twoDaysAgo), body)
		require.Equal(t, 400, status, "by HTTP it is too old")
		require.Zero(t, count(t, db, "app.bookings"))

		out := succeed(t, owner(db), "events", "replay", "evt_old")
		require.Contains(t, out, "processed: applied now, attempt 2")
		require.EqualValues(t, 1, count(t, db, "app.bookings"))
		require.EqualValues(t, 1, count(t, db, "paidonce.deliveries where source = 'replay'"))
	})
}
