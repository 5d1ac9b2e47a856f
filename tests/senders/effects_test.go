package senders_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/fakehttp"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func checkout(id string) string {
	return event(id, "checkout.session.completed", time.Now(), object{
		"id": "cs_" + id, "object": "checkout.session", "mode": "subscription", "payment_status": "paid", "status": "complete",
		"customer": "cus_" + id, "client_reference_id": "user_" + id, "customer_details": object{"email": id + "@example.com"},
	})
}

// requireOnce wants one effect of each kind per event, and the same key and bytes on every attempt.
func (s *shop) requireOnce(events ...string) {
	s.t.Helper()
	require.Zero(s.t, s.count("paidonce.outbox where status <> 'sent'"))
	require.Len(s.t, s.resend.Emails(), len(events))
	require.Len(s.t, s.receiver.effects(), len(events))
	require.Len(s.t, s.stripe.Effects(), len(events))
	attempts := map[string]map[string]bool{}
	for _, all := range [][]fakehttp.Request{s.resend.Requests("POST", "/"), s.receiver.Requests("POST", "/"), s.stripe.Requests("POST", "/")} {
		for _, r := range all {
			key := r.Header.Get("Idempotency-Key")
			if attempts[key] == nil {
				attempts[key] = map[string]bool{}
			}
			attempts[key][r.Body] = true
		}
	}
	require.Len(s.t, attempts, 3*len(events))
	for key, bodies := range attempts {
		require.Len(s.t, bodies, 1, "other bytes under the key %s", key)
	}
	for _, id := range events {
		for _, action := range []string{"email.welcome", "http.bookkeeping", "stripe.invoice"} {
			require.Contains(s.t, attempts, id+":"+action)
		}
	}
	// What went out is what the rows say.
	for key, body := range s.receiver.effects() {
		require.Equal(s.t, pgtest.One[string](s.t, s.db, "select payload::text from paidonce.outbox where idempotency_key = $1", key), body)
	}
}

func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]bool{"before the request": false, "after the request and before its outcome is written down": true} {
		for _, action := range []string{"email.welcome", "http.bookkeeping", "stripe.invoice"} {
			t.Run(fmt.Sprintf("given a worker killed by SIGKILL %s of %s when another one works then one effect, same key, same bytes", name, action), func(t *testing.T) {
				t.Parallel()
				s := openShop(t)
				require.Equal(t, "processed", s.handle(checkout("evt_1")))
				// The row in question is the only one that is due.
				s.db.Exec(t, "update paidonce.outbox set next_attempt_at = now() + interval '1 hour' where action <> $1", action)
				s.setup.doomed(t, after)
				require.Equal(t, "pending 1 true", pgtest.One[string](t, s.db, "select status || ' ' || attempts || ' ' || (lease_until > now()) from paidonce.outbox where action = $1", action))
				s.db.Exec(t, "update paidonce.outbox set next_attempt_at = now() where action <> $1", action)
				s.work()
				s.settled()
				s.requireOnce("evt_1")
				require.Equal(t, 2, pgtest.One[int](t, s.db, "select attempts from paidonce.outbox where action = $1", action))
			})
		}
	}

	t.Run("given workers killed again and again at a refetch when another one works then the truth is kept", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.stripe.Put("", subscription("sub_1", "active"))
		require.Equal(t, "processed", s.handle(event("evt_1", "customer.subscription.updated", time.Now(), subscription("sub_1", "past_due"))))
		for _, after := range []bool{false, true, true} {
			s.setup.doomed(t, after)
			time.Sleep(lease)
		}
		s.work()
		s.settled()
		require.Equal(t, "active", pgtest.One[string](t, s.db, "select status from paidonce.subscriptions"))
		require.Equal(t, 1, s.count("paidonce.outbox where status = 'sent'"))
	})
}

func TestLostReplies(t *testing.T) {
	t.Parallel()
	t.Run("given receivers that do the work and drop the reply, time out or are busy when events come in then each effect once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		for _, breakIt := range []func(fakehttp.Fault){s.resend.Break, s.receiver.Break, s.stripe.Break} {
			breakIt(fakehttp.Fault{Method: "POST", Drop: true, Times: 5})
			breakIt(fakehttp.Fault{Method: "POST", Status: 503, Times: 3})
			breakIt(fakehttp.Fault{Method: "POST", Status: 429, Header: map[string]string{"Retry-After": "1"}, Times: 2})
			breakIt(fakehttp.Fault{Method: "POST", Delay: 2 * time.Second, Times: 1})
			breakIt(fakehttp.Fault{Method: "POST", Slow: 2 * time.Second, Times: 1})
		}
		s.work()
		s.work()
		var events []string
		for i := range 10 {
			id := fmt.Sprintf("evt_%d", i)
			events = append(events, id)
			require.Equal(t, "processed", s.handle(checkout(id)))
			require.Equal(t, "duplicate", s.handle(checkout(id)))
		}
		s.settled()
		s.requireOnce(events...)
	})
}

// TestVerification are the checks that readers are told to make, with the worker in the picture.
func TestVerification(t *testing.T) {
	t.Parallel()

	t.Run("given an effect that throws once when Stripe tries again then it is applied exactly once, one and not zero", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.work()
		s.db.Exec(t, "update app.switches set broken = true")
		require.Equal(t, "failed", s.handle(checkout("evt_1")))
		require.Zero(t, s.count("app.orders")+s.count("paidonce.outbox"))
		s.db.Exec(t, "update app.switches set broken = false")
		require.Equal(t, "processed", s.handle(checkout("evt_1")))
		s.settled()
		s.requireOnce("evt_1")
		require.Equal(t, 1, s.count("app.orders"))
	})

	t.Run("given an event that was committed and answered with an error when Stripe tries again then nothing new is written", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.work()
		require.Equal(t, "processed", s.handle(checkout("evt_1"))) // the answer to this one is lost
		s.settled()
		require.Equal(t, "duplicate", s.handle(checkout("evt_1")))
		s.settled()
		s.requireOnce("evt_1")
		require.Equal(t, 2, s.count("paidonce.deliveries"))
		require.Equal(t, 1, s.count("app.orders"))
	})

	t.Run("given events delivered at once, again and again, when the tables are read then one event row per id and one sent row per effect", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.work()
		var events []string
		done := make(chan error)
		for i := range 5 {
			events = append(events, fmt.Sprintf("evt_%d", i))
			for range 5 {
				go func() {
					_, err := s.db.Pool.Exec(t.Context(), "select public.handle_stripe_event($1::jsonb)", checkout(fmt.Sprintf("evt_%d", i)))
					done <- err
				}()
			}
		}
		for range 25 {
			require.NoError(t, <-done)
		}
		s.settled()
		s.requireOnce(events...)
		require.Equal(t, 5, s.count("paidonce.events"))
		require.Equal(t, 15, s.count("(select from paidonce.outbox where status = 'sent' group by event_id, action having count(*) = 1) as o"))
	})
}
