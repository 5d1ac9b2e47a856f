package senders_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/internal/testing/fakehttp"
	"github.com/paidonce/paidonce/internal/testing/fakeresend"
	"github.com/paidonce/paidonce/internal/testing/fakestripe"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

//go:embed testdata/app.sql
var appSQL string

// shop is a database with an application in it, and everybody whom its worker speaks to.
type shop struct {
	t        *testing.T
	db       *pgtest.DB
	receiver *receiver
	resend   *fakeresend.Server
	stripe   *fakestripe.Server
	setup    setup
}

// receiver does the work once per key, as a receiver of http.* should.
type receiver struct {
	*fakehttp.Server
	mu   sync.Mutex
	done map[string]string // by key
}

func (r *receiver) effects() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]string{}
	for key, body := range r.done {
		out[key] = body
	}
	return out
}

func openShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, db: pgtest.New(t), receiver: &receiver{done: map[string]string{}}}
	s.db.Exec(t, appSQL)
	var err error
	s.receiver.Server, err = fakehttp.Start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.receiver.mu.Lock()
		defer s.receiver.mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		body := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(body)
		if had, there := s.receiver.done[key]; there && had != string(body) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		s.receiver.done[key] = string(body)
	}))
	require.NoError(t, err)
	s.resend, err = fakeresend.Start(resendKey)
	require.NoError(t, err)
	s.stripe, err = fakestripe.Start(stripeKey)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.receiver.Close())
		require.NoError(t, s.resend.Close())
		require.NoError(t, s.stripe.Close())
	})
	s.setup = setup{Database: s.db.Login(t, "paidonce_worker"), Receiver: s.receiver.URL(), Resend: s.resend.URL(), Stripe: s.stripe.URL()}
	return s
}

// work runs a worker until the test ends, or until the returned function is called.
func (s *shop) work() (stop func()) {
	s.t.Helper()
	pool, err := database.Open(s.t.Context(), s.setup.Database, database.Options{MaxConns: 4})
	require.NoError(s.t, err)
	w, err := s.setup.worker(pool, func(send outbox.Sender) outbox.Sender { return send })
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(s.t, <-ended)
		pool.Close()
	})
	s.t.Cleanup(stop)
	return stop
}

func (s *shop) count(from string, args ...any) int {
	s.t.Helper()
	return pgtest.One[int](s.t, s.db, "select count(*) from "+from, args...)
}

// settled waits until no row is pending.
func (s *shop) settled() {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.count("paidonce.outbox where status = 'pending'") == 0 }, 30*time.Second, 20*time.Millisecond)
}

type object = fakestripe.Object

func event(id, kind string, created time.Time, o object) string {
	return encode(object{"id": id, "object": "event", "type": kind, "created": created.Unix(), "livemode": false, "api_version": "2025-08-27.basil", "data": object{"object": o}})
}

func encode(o any) string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (s *shop) handle(body string) string {
	s.t.Helper()
	return pgtest.One[string](s.t, s.db, "select public.handle_stripe_event($1::jsonb) ->> 'outcome'", body)
}

func subscription(id, status string) object {
	return object{"id": id, "object": "subscription", "customer": "cus_" + id, "status": status, "livemode": false,
		"items": object{"object": "list", "has_more": false, "data": []any{object{"id": "si_" + id, "object": "subscription_item", "quantity": 1, "price": object{"id": "price_1", "object": "price", "product": "prod_1"}}}}}
}
