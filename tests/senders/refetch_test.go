package senders_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/fakehttp"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func (s *shop) status(id string) string {
	s.t.Helper()
	return pgtest.One[string](s.t, s.db, "select coalesce((select status from paidonce.subscriptions where subscription_id = $1), 'unknown')", id)
}

func (s *shop) updated(id string, o object) string {
	return s.handle(event(id, "customer.subscription.updated", time.Now(), o))
}

func thin(id, kind, object, of string) string {
	return encode(map[string]any{
		"id": id, "object": "v2.core.event", "type": kind, "created": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "livemode": false,
		"related_object": map[string]any{"id": of, "type": object, "url": "/v1/" + object + "s/" + of}, "snapshot_event": "evt_twin",
	})
}

func TestRefetch(t *testing.T) {
	t.Parallel()

	t.Run("given many events of one object when a worker comes then it asks Stripe once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.stripe.Put("", subscription("sub_1", "active"))
		for i := range 20 {
			require.Equal(t, "processed", s.updated(fmt.Sprintf("evt_%d", i), subscription("sub_1", "past_due")))
		}
		require.Equal(t, 1, s.count("paidonce.outbox"))
		s.work()
		s.settled()
		require.Equal(t, "active", s.status("sub_1"))
		require.Len(t, s.stripe.Requests("GET", "/"), 1)
	})

	t.Run("given events that land during every GET when they end then the last word is Stripe's", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.stripe.Put("", subscription("sub_1", "trialing"))
		landed := 0
		s.stripe.OnAnswer(func(string) {
			if landed++; landed <= 5 {
				s.stripe.Change("", "sub_1", object{"status": []string{"active", "past_due"}[landed%2], "round": landed})
				_, err := s.db.Pool.Exec(context.Background(), "select public.handle_stripe_event($1::jsonb)",
					event(fmt.Sprintf("evt_%d", landed), "customer.subscription.updated", time.Now(), subscription("sub_1", "unpaid")))
				if err != nil {
					t.Error(err)
				}
			}
		})
		s.work()
		require.Equal(t, "processed", s.updated("evt_0", subscription("sub_1", "incomplete")))
		s.settled()
		require.Equal(t, "past_due 5", pgtest.One[string](t, s.db, "select status || ' ' || (data ->> 'round') from paidonce.subscriptions"))
		require.GreaterOrEqual(t, len(s.stripe.Requests("GET", "/")), 6)
		require.Equal(t, 1, s.count("paidonce.outbox"))
	})

	t.Run("given an event that arrives after the answer was applied and before its row is settled when all is done then it was refetched too", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.stripe.Put("", subscription("sub_1", "active"))
		s.updated("evt_1", subscription("sub_1", "trialing"))
		token := pgtest.One[int64](t, s.db, "select lease_token from paidonce.claim_outbox(1, '1 minute')")
		s.db.Exec(t, "select paidonce.apply_snapshot($1::jsonb, now(), paidonce.generation_of('subscription', 'sub_1'))", encode(subscription("sub_1", "active")))
		s.stripe.Change("", "sub_1", object{"status": "past_due"})
		s.updated("evt_2", subscription("sub_1", "trialing"))
		s.db.Exec(t, "select paidonce.settle_outbox(jsonb_build_array(jsonb_build_object('id', (select id from paidonce.outbox), 'lease_token', $1::bigint, 'outcome', 'sent')))", token)
		require.Equal(t, 1, s.count("paidonce.outbox where status = 'pending'"))
		s.work()
		s.settled()
		require.Equal(t, "past_due", s.status("sub_1"))
	})

	t.Run("given Stripe down for long when it comes back then every object is caught up with, each request waited, none is lost", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.work()
		s.stripe.Break(fakehttp.Fault{Status: 503, Times: -1})
		for i := range 30 {
			id := fmt.Sprintf("sub_%d", i)
			s.stripe.Put("", subscription(id, "active"))
			require.Equal(t, "processed", s.updated("evt_"+id, subscription(id, "past_due")))
		}
		// An hour at the pace of these tests, which wait a fiftieth of what is usual.
		require.Eventually(t, func() bool { return len(s.stripe.Requests("GET", "/")) > 30*15 }, 30*time.Second, 20*time.Millisecond)
		require.Equal(t, 30, s.count("paidonce.outbox where status = 'pending' and error like '%503%'"))
		s.stripe.Mend()
		s.settled()
		require.Equal(t, 30, s.count("paidonce.subscriptions where status = 'active'"))
		require.Equal(t, 30, s.count("paidonce.outbox where status = 'sent'"))
	})

	t.Run("given a price that a line waits for and a payment whose invoice nobody named when they are refetched then credits add up", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.stripe.Put("", object{"id": "price_1", "object": "price", "product": "prod_1", "livemode": false, "metadata": object{}})
		s.stripe.Put("", object{"id": "prod_1", "object": "product", "name": "Pack", "livemode": false, "metadata": object{"credits": "100"}})
		paid := object{
			"id": "in_1", "object": "invoice", "customer": "cus_1", "status": "paid", "amount_paid": 1000, "total": 1000, "currency": "eur", "livemode": false,
			"lines": object{"object": "list", "data": []any{object{"id": "il_1", "object": "line_item", "amount": 1000, "quantity": 2, "pricing": object{"type": "price_details", "price_details": object{"price": "price_1", "product": "prod_1"}}}}},
		}
		s.stripe.Put("", paid)
		s.stripe.Change("", "in_1", object{"payments": object{"object": "list", "data": []any{object{
			"id": "inpay_1", "object": "invoice_payment", "invoice": "in_1", "status": "paid", "payment": object{"type": "payment_intent", "payment_intent": "pi_1"}}}}})
		s.stripe.Put("", object{"id": "pi_1", "object": "payment_intent", "status": "succeeded", "customer": "cus_1", "amount": 1000, "amount_received": 1000, "livemode": false})
		s.db.Exec(t, "select paidonce.link_customer('cus_1', 'u1')")
		s.work()
		require.Equal(t, "processed", s.handle(event("evt_1", "invoice.paid", time.Now(), paid)))
		require.Eventually(t, func() bool { return s.count("paidonce.credit_balances where balance = 200") == 1 }, 10*time.Second, 20*time.Millisecond)
		require.Equal(t, "processed", s.handle(event("evt_2", "payment_intent.succeeded", time.Now(), s.stripe.Object("", "pi_1"))))
		require.Equal(t, "processed", s.handle(event("evt_3", "refund.created", time.Now(), object{
			"id": "re_1", "object": "refund", "payment_intent": "pi_1", "amount": 500, "currency": "eur", "status": "succeeded", "livemode": false})))
		s.settled()
		require.Equal(t, 100, pgtest.One[int](t, s.db, "select balance::int from paidonce.credit_balances"))
		require.Zero(t, s.count("paidonce.audit"))
	})
}

func TestWaitingForPrices(t *testing.T) {
	t.Parallel()
	paid := object{
		"id": "in_1", "object": "invoice", "customer": "cus_1", "status": "paid", "amount_paid": 1000, "total": 1000, "currency": "eur", "livemode": false,
		"lines": object{"object": "list", "data": []any{object{"id": "il_1", "object": "line_item", "amount": 1000, "quantity": 1, "pricing": object{"type": "price_details", "price_details": object{"price": "price_1", "product": "prod_1"}}}}},
	}

	t.Run("given a request that an event has joined when a worker has fetched before the event is committed then its answer waits for the event, and the object is asked for again", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.updated("evt_1", subscription("sub_1", "active"))
		tx, err := s.db.Pool.Begin(t.Context())
		require.NoError(t, err)
		defer func() { _ = tx.Rollback(context.Background()) }()
		_, err = tx.Exec(t.Context(), "select public.handle_stripe_event($1::jsonb)", event("evt_2", "customer.subscription.updated", time.Now(), subscription("sub_1", "past_due")))
		require.NoError(t, err)
		require.Equal(t, 1, s.count("paidonce.claim_outbox(10, '1 minute')"))
		generation := pgtest.One[int](t, s.db, "select paidonce.generation_of('subscription', 'sub_1')")
		applied := make(chan string, 1)
		go func() {
			var became string
			if err := s.db.Pool.QueryRow(context.Background(), "select paidonce.apply_snapshot($1::jsonb, now(), $2)", encode(subscription("sub_1", "active")), generation).Scan(&became); err != nil {
				became = err.Error()
			}
			applied <- became
		}()
		select {
		case became := <-applied:
			t.Fatal("the answer did not wait: ", became)
		case <-time.After(300 * time.Millisecond):
		}
		require.NoError(t, tx.Commit(t.Context()))
		require.Equal(t, "moved", <-applied)
		require.Equal(t, 1, s.count("paidonce.outbox where status = 'pending' and lease_until is null"))
		require.Equal(t, "past_due", s.status("sub_1"))
	})

	t.Run("given a price that is known and a product that Stripe does not show when a line waits for both then the price is not asked for again and again", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.stripe.Put("", object{"id": "price_1", "object": "price", "product": "prod_1", "livemode": false, "metadata": object{}})
		s.stripe.Break(fakehttp.Fault{Path: "/v1/products", Status: 403, Body: `{"error":{"type":"invalid_request_error"}}`, Times: -1})
		s.db.Exec(t, "select paidonce.link_customer('cus_1', 'u1')")
		s.work()
		require.Equal(t, "processed", s.handle(event("evt_1", "invoice.paid", time.Now(), paid)))
		time.Sleep(2 * time.Second)
		require.LessOrEqual(t, len(s.stripe.Requests("GET", "/v1/prices")), 2)
		require.Equal(t, 1, s.count("paidonce.outbox where status = 'pending'"))
	})
}

func TestThinEvents(t *testing.T) {
	t.Parallel()

	t.Run("given a thin event and the snapshot event it names when both arrive, in any order and twice, then one fact, one row, one refetch", func(t *testing.T) {
		t.Parallel()
		for _, order := range [][]int{{0, 1}, {1, 0}, {0, 0, 1, 1}, {1, 0, 1, 0}} {
			s := openShop(t)
			s.stripe.Put("", subscription("sub_1", "active"))
			both := []string{
				thin("evt_thin", "v1.customer.subscription.updated", "subscription", "sub_1"),
				event("evt_twin", "customer.subscription.updated", time.Now(), subscription("sub_1", "past_due")),
			}
			seen := map[int]bool{}
			for _, i := range order {
				want := map[bool]string{false: "processed", true: "duplicate"}[seen[i]]
				seen[i] = true
				require.Equal(t, want, s.handle(both[i]))
			}
			require.Equal(t, 2, s.count("paidonce.events"))
			require.Equal(t, 1, s.count("paidonce.outbox where status = 'pending'"))
			require.Equal(t, 1, s.count("paidonce.subscriptions"))
			s.work()
			s.settled()
			require.Equal(t, "active", s.status("sub_1"))
			require.Equal(t, 1, s.count("paidonce.subscriptions"))
			require.Len(t, s.stripe.Requests("GET", "/"), 1)
		}
	})

	t.Run("given thin events only when they are worked on then the objects are kept as Stripe has them, deleted ones too", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.work()
		s.stripe.Put("", subscription("sub_1", "active"))
		s.stripe.Put("", object{"id": "cus_1", "object": "customer", "email": "a@example.com", "livemode": false})
		require.Equal(t, "processed", s.handle(thin("evt_1", "v1.customer.subscription.created", "subscription", "sub_1")))
		require.Equal(t, "processed", s.handle(thin("evt_2", "v1.customer.created", "customer", "cus_1")))
		s.settled()
		require.Equal(t, "active", s.status("sub_1"))
		require.Equal(t, 1, s.count("paidonce.customers where email = 'a@example.com' and not deleted"))
		s.stripe.Delete("", "cus_1", false)
		require.Equal(t, "processed", s.handle(thin("evt_3", "v1.customer.deleted", "customer", "cus_1")))
		s.settled()
		require.Equal(t, 1, s.count("paidonce.customers where email = 'a@example.com' and deleted"))
	})

	t.Run("given a customer's own event and its entitlements' when both ask for a refetch then both are fetched", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.stripe.Put("", object{"id": "cus_1", "object": "customer", "email": "a@example.com", "livemode": false})
		for i := range 15 {
			s.stripe.Put("", object{"id": fmt.Sprintf("ent_%02d", i), "object": "entitlements.active_entitlement", "customer": "cus_1", "lookup_key": fmt.Sprintf("f%d", i), "livemode": false})
		}
		require.Equal(t, "processed", s.handle(thin("evt_1", "v1.customer.updated", "customer", "cus_1")))
		require.Equal(t, "processed", s.handle(event("evt_2", "entitlements.active_entitlement_summary.updated", time.Now(), object{
			"object": "entitlements.active_entitlement_summary", "customer": "cus_1", "livemode": false, "entitlements": object{"object": "list", "has_more": true, "data": []any{}}})))
		require.Equal(t, 2, s.count("paidonce.outbox where status = 'pending'"))
		s.work()
		s.settled()
		require.Equal(t, 15, pgtest.One[int](t, s.db, "select cardinality(features) from paidonce.entitlement_summaries"))
		require.Equal(t, 1, s.count("paidonce.customers where email = 'a@example.com'"))
	})
}

func TestEndState(t *testing.T) {
	t.Parallel()
	t.Run("given changes at Stripe whose events are stale, late, doubled and lost for some, and a Stripe that fails at times, when it is quiet then the tables are Stripe's state", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.work()
		s.work()
		statuses := []string{"trialing", "active", "past_due", "unpaid", "paused", "active"}
		var mu sync.Mutex
		truth := map[string]int{}
		var all sync.WaitGroup
		for worker := range 4 {
			all.Go(func() {
				for i := range 40 {
					id := fmt.Sprintf("sub_%d", rand.N(6))
					mu.Lock()
					truth[id]++
					o := subscription(id, statuses[rand.N(len(statuses))])
					o["round"] = truth[id]
					s.stripe.Put("", o)
					if rand.N(10) == 0 {
						s.stripe.Break(fakehttp.Fault{Status: []int{500, 429, 503}[rand.N(3)]})
					}
					mu.Unlock()
					// What arrives says something else, at times twice, and its second is anybody's.
					body := event(fmt.Sprintf("evt_%d_%d", worker, i), "customer.subscription.updated", time.Now().Add(-time.Duration(rand.N(3))*time.Second), subscription(id, statuses[rand.N(len(statuses))]))
					for range 1 + rand.N(2) {
						if _, err := s.db.Pool.Exec(context.Background(), "select public.handle_stripe_event($1::jsonb)", body); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		all.Wait()
		s.settled()
		for id, round := range truth {
			want := s.stripe.Object("", id)
			require.Equal(t, fmt.Sprintf("%s %d", want["status"], round),
				pgtest.One[string](t, s.db, "select status || ' ' || (data ->> 'round') from paidonce.subscriptions where subscription_id = $1", id))
		}
		require.Zero(t, s.count("paidonce.outbox where status <> 'sent'"))
	})
}
