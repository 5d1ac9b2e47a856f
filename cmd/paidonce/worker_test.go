package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

const postSecret = "whsec_b2YgdGhlIHRlc3Rz"

// provider answers every request and counts them by their key.
type provider struct {
	mu     sync.Mutex
	keys   map[string]int
	bodies []string
	status int
}

func provide(t *testing.T) (*provider, string) {
	t.Helper()
	p := &provider{keys: map[string]int{}, status: http.StatusOK}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.keys[r.Header.Get("Idempotency-Key")]++
		p.bodies = append(p.bodies, string(body))
		w.WriteHeader(p.status)
		_, _ = io.WriteString(w, `{"id": "42"}`)
	}))
	t.Cleanup(server.Close)
	return p, server.URL
}

func (p *provider) seen(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys[key]
}

func (p *provider) answer(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

// login creates a login that is a member of the named roles and nothing else.
func login(t *testing.T, db *pgtest.DB, roles string) string {
	t.Helper()
	role := "login_" + db.Name
	db.Exec(t, "create role "+role+" in role "+roles)
	t.Cleanup(func() {
		_, err := db.Pool.Exec(context.Background(), "drop role "+role)
		require.NoError(t, err)
	})
	return db.Login(t, role)
}

// soon waits for what a process brings about.
func soon(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 20*time.Second, 10*time.Millisecond, what)
}

func TestWorkerCommand(t *testing.T) {
	t.Parallel()

	t.Run("given a receiver when the worker runs with the rights of its role alone then http rows are posted once, others wait, and it ends in order", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		receiver, url := provide(t)
		db.Exec(t, `select paidonce.enqueue_once('k1', null, 'http.order', '{"n": 1}'), paidonce.enqueue_once('k2', null, 'email.welcome', '{}')`)
		env := append(at(login(t, db, "paidonce_worker")), "OUTBOX_HTTP_URL="+url, "OUTBOX_HTTP_SECRET="+postSecret, "OUTBOX_HTTP_ALLOW_PRIVATE=true", "OUTBOX_LEASE=30")
		p := start(t, command(t, env, "worker", "--metrics-addr", "127.0.0.1:0", "--log-format", "json"))
		soon(t, "it is sent", func() bool { return count(t, db, "paidonce.outbox where status = 'sent'") == 1 })
		soon(t, "it listens", func() bool { return strings.Contains(p.text(), `"outbox: listening"`) })
		require.Equal(t, 1, receiver.seen("k1"))
		require.Contains(t, receiver.bodies[0], `"n": 1`)
		require.EqualValues(t, 1, count(t, db, "paidonce.outbox where status = 'pending' and attempts = 0"))
		require.Contains(t, p.text(), `"lease":30000000000`)

		var addr string
		for line := range strings.Lines(p.text()) {
			var entry struct{ Msg, Addr string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving metrics" {
				addr = entry.Addr
			}
		}
		status, body := ask(t, http.MethodGet, "http://"+addr+"/readyz", "", "")
		require.Equal(t, 200, status, body)
		soon(t, "it counts", func() bool {
			_, metrics := ask(t, http.MethodGet, "http://"+addr+"/metrics", "", "")
			return strings.Contains(metrics, `paidonce_outbox_attempts_total{outcome="sent",sender="http.*"} 1`)
		})
		status, _ = ask(t, http.MethodPost, "http://"+addr+"/webhooks/stripe", "", "{}")
		require.Equal(t, 404, status)

		p.signal(t, syscall.SIGTERM)
		require.NoError(t, p.wait(t, 15*time.Second))
		require.Contains(t, p.text(), "nothing was left in flight")
		require.NotContains(t, p.text(), postSecret)
	})

	t.Run("given a login without the role when the worker runs then it says so and is not ready", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		env := append(at(db.URL("authenticator")), "RESEND_API_KEY=re_hush")
		p := start(t, command(t, env, "worker"))
		soon(t, "it warns", func() bool { return strings.Contains(p.text(), "a worker one of role paidonce_worker") })
		soon(t, "it fails to claim", func() bool { return strings.Contains(p.text(), "call=claim") })
		require.NotContains(t, p.text(), "re_hush")
		p.signal(t, syscall.SIGTERM)
		require.NoError(t, p.wait(t, 15*time.Second))
	})

	t.Run("given a webhook with a sender configured when an event comes five times then its e-mail is sent once, and not at all with --no-worker", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		app(t, db)
		resend, base := provide(t)
		env := append(at(login(t, db, "paidonce_edge, paidonce_worker")), "STRIPE_WEBHOOK_SECRET="+secret, "RESEND_API_KEY=re_hush", "RESEND_API_BASE="+base)
		run := func(args ...string) (*process, string) {
			p := start(t, command(t, env, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...))
			var addr string
			soon(t, "it listens", func() bool {
				_, rest, found := strings.Cut(p.text(), "msg=listening addr=")
				addr, _, _ = strings.Cut(rest, " ")
				return found
			})
			return p, "http://" + addr + "/webhooks/stripe"
		}
		p, url := run("--no-worker")
		succeed(t, nil, send(url, "--times", "5", eventFile(t, "evt_1", "invoice.paid", invoice))...)
		time.Sleep(300 * time.Millisecond)
		require.Zero(t, resend.seen("evt_1:email.receipt"))
		p.signal(t, syscall.SIGTERM)
		require.NoError(t, p.wait(t, 15*time.Second))

		p, url = run()
		soon(t, "what waited is sent", func() bool { return resend.seen("evt_1:email.receipt") == 1 })
		succeed(t, nil, send(url, "--times", "5", "--parallel", "5", eventFile(t, "evt_2", "invoice.paid", invoice))...)
		soon(t, "and what comes", func() bool {
			return count(t, db, "paidonce.outbox where action = 'email.receipt' and status = 'sent'") == 2
		})
		require.Equal(t, 1, resend.seen("evt_2:email.receipt"))
		p.signal(t, syscall.SIGTERM)
		require.NoError(t, p.wait(t, 15*time.Second))
		require.NotContains(t, p.text(), "re_hush")
	})

	for name, tc := range map[string]struct {
		env  []string
		args []string
		err  string
	}{
		"given a receiver without a secret when the worker starts then it is refused": {[]string{"OUTBOX_HTTP_URL=http://127.0.0.1:1"}, nil, "both a URL (OUTBOX_HTTP_URL) and a secret (OUTBOX_HTTP_SECRET)"},
		"given a lease of nothing when the worker starts then it is refused":          {[]string{"OUTBOX_LEASE=0"}, nil, "OUTBOX_LEASE"},
		"given a lease that is none when the worker starts then it is refused":        {[]string{"OUTBOX_LEASE=soon"}, nil, "soon"},
		"given a broken LISTEN url when the worker starts then no password is shown":  {[]string{"LISTEN_DATABASE_URL=postgres://u:hush-hush@h:port/d", "RESEND_API_KEY=re_1"}, nil, "LISTEN_DATABASE_URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := execute(t, append(at("postgres://u@127.0.0.1:1/d"), tc.env...), append([]string{"worker"}, tc.args...)...)
			require.Equal(t, 2, r.code, r.err)
			require.Contains(t, r.err, tc.err)
			require.NotContains(t, r.err, "hush-hush")
		})
	}
}

func TestOutboxCommand(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	env := owner(db)
	receiver, url := provide(t)
	receiver.answer(http.StatusUnprocessableEntity)
	for _, key := range []string{"k1", "k2", "k3"} {
		db.Exec(t, `select paidonce.enqueue_once($1::text, null, 'http.order', '{"card": "4242"}')`, key)
	}
	db.Exec(t, `select paidonce.enqueue_once('other', null, 'email.welcome', '{}')`)
	start(t, command(t, append(env, "OUTBOX_HTTP_URL="+url, "OUTBOX_HTTP_SECRET="+postSecret, "OUTBOX_HTTP_ALLOW_PRIVATE=true"), "worker"))
	soon(t, "they are given up", func() bool { return count(t, db, "paidonce.outbox where status = 'dead'") == 3 })

	t.Run("given rows that were given up when listed then they say why, without their payloads", func(t *testing.T) {
		out := succeed(t, env, "outbox", "list", "--status", "dead", "--limit", "2")
		require.Len(t, strings.Split(strings.TrimSpace(out), "\n"), 3)
		require.Regexp(t, `3 +http\.order +dead +1 .* k3 .*422`, out)
		require.NotContains(t, out, "4242")
		var rows []map[string]any
		require.NoError(t, json.Unmarshal([]byte(succeed(t, env, "outbox", "list", "--action", "email.*", "--json")), &rows))
		require.Len(t, rows, 1)
		require.Equal(t, "other", rows[0]["idempotency_key"])
		require.NotContains(t, rows[0], "payload")
		require.Equal(t, "[]\n", succeed(t, env, "outbox", "list", "--status", "sent", "--json"))
	})

	t.Run("given one of them when retried by its number then it alone is sent, under its key", func(t *testing.T) {
		receiver.answer(http.StatusOK)
		require.Contains(t, succeed(t, env, "outbox", "retry", "1"), "1  pending")
		soon(t, "it is sent", func() bool { return count(t, db, "paidonce.outbox where status = 'sent'") == 1 })
		require.Equal(t, 2, receiver.seen("k1"))
		require.Equal(t, 1, receiver.seen("k2"))
	})

	t.Run("given a row that was sent or is unknown when retried then it is exit code 1, and force sends it again", func(t *testing.T) {
		r := execute(t, env, "outbox", "retry", "1", "99")
		require.Equal(t, 1, r.code)
		require.Contains(t, r.out, "1  refused: outbox row 1 was sent")
		require.Contains(t, r.out, "99  unknown")
		require.Contains(t, r.err, "0 of 2")
		require.Contains(t, succeed(t, env, "outbox", "retry", "1", "--force"), "1  pending")
		soon(t, "it is sent again", func() bool { return receiver.seen("k1") == 3 })
	})

	t.Run("given all that were given up when retried then they are sent, and a second time there are none", func(t *testing.T) {
		require.Equal(t, "[]\n", succeed(t, env, "outbox", "retry", "--dead", "--action", "email.*", "--json"))
		var results []map[string]any
		require.NoError(t, json.Unmarshal([]byte(succeed(t, env, "outbox", "retry", "--dead", "--json")), &results))
		require.Len(t, results, 2)
		soon(t, "they are sent", func() bool { return count(t, db, "paidonce.outbox where status = 'sent'") == 3 })
		require.Contains(t, execute(t, env, "outbox", "retry", "--dead").err, "no row was given up")
	})

	t.Run("given wrong usage when retried then nothing is tried", func(t *testing.T) {
		for _, args := range [][]string{{}, {"1", "--dead"}, {"one"}, {"1", "--action", "email.*"}} {
			require.Equal(t, 2, execute(t, env, append([]string{"outbox", "retry"}, args...)...).code, args)
		}
		require.Equal(t, 2, execute(t, env, "outbox", "list", "--status", "lost").code)
	})
}
