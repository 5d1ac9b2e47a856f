package e2e_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/deliver/stripesign"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// What any webhook receiver has to stand: a replayed request, a tampered one, events out of order.
func TestNegative(t *testing.T) {
	t.Parallel()

	t.Run("given a request when it is replayed byte for byte then the second is a duplicate and the effect stays one", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		e := s.linked().paid(fresh("in"))
		body := e.body()
		signature := stripesign.Sign(body, secret, time.Now())
		require.Equal(t, "200 processed", post(s.client, s.url, body, signature).String())
		require.Equal(t, "200 duplicate", post(s.client, s.url, body, signature).String())
		require.Equal(t, 1, s.count("app.runs where event_id = $1", e.id))
		require.Equal(t, 1, s.count("app.grants"))
		s.requireSound()
	})

	t.Run("given a request recorded long ago when it is replayed then 400 and nothing is written", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		e := newBuyer().checkout()
		old := stripesign.Sign(e.body(), secret, time.Now().Add(-6*time.Minute))
		require.Equal(t, 400, post(s.client, s.url, e.body(), old).Status)
		require.Zero(t, s.count("paidonce.events")+s.count("paidonce.deliveries"))
	})

	t.Run("given a signed request when its body, its signature or its secret is another then 400 and nothing is written", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		body := newBuyer().paid(fresh("in")).body()
		good := stripesign.Sign(body, secret, time.Now())
		more := bytes.Replace(body, []byte("1900"), []byte("9900"), 1)
		require.NotEqual(t, body, more)
		for name, a := range map[string]answer{
			"another amount":   post(s.client, s.url, more, good),
			"a space more":     post(s.client, s.url, append(bytes.Clone(body), ' '), good),
			"another secret":   post(s.client, s.url, body, stripesign.Sign(body, "whsec_other", time.Now())),
			"no signature":     post(s.client, s.url, body, ""),
			"another's header": post(s.client, s.url, body, stripesign.Sign(more, secret, time.Now())),
		} {
			require.Equal(t, 400, a.Status, name)
		}
		require.Zero(t, s.count("paidonce.events")+s.count("paidonce.deliveries")+s.count("paidonce.customers"))
	})

	t.Run("given created, updated and deleted of a subscription when they arrive in any order and twice then it ends canceled", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			b := newBuyer()
			events := []event{b.subscribed("created", "incomplete", 0), b.subscribed("updated", "active", 1), b.subscribed("deleted", "canceled", 2)}
			for _, i := range order {
				s.requireAnswer("200 processed", events[i])
				s.requireAnswer("200 duplicate", events[i])
			}
			require.Equal(t, "canceled", pgtest.One[string](t, s.db,
				"select status from paidonce.subscriptions where subscription_id = $1", b.subscription), order)
		}
		s.requireSound()
	})
}

// The checks of a handler that claims to be idempotent, each tried at the real thing.
func TestIdempotency(t *testing.T) {
	t.Parallel()

	t.Run("given a customer with one effect when one event body comes five times at once then there is one row and one more effect", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := s.linked()
		s.requireAnswer("200 processed", b.paid(fresh("in")))
		body := b.paid(fresh("in")).body()
		signature := stripesign.Sign(body, secret, time.Now())
		answers := together(times(5, func() answer { return post(s.client, s.url, body, signature) })...)
		require.Equal(t, map[string]int{"200 processed": 1, "200 duplicate": 4}, tally(answers))
		require.Equal(t, 2, s.count("app.grants"))
		require.Equal(t, 2, s.count("paidonce.outbox where action = 'email.receipt'"))
		require.Equal(t, 3, s.count("paidonce.events"))
		s.requireSound()
	})

	t.Run("given a flag that makes the handler raise once, after the claim and before the effect, when the event is sent again then it has its effect once and not zero times", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.db.Exec(t, `
			create sequence app.tries;
			create function app.raise_once(event jsonb) returns void language plpgsql volatile set search_path = '' as $$
			begin
				if nextval('app.tries') = 1 then raise exception 'once'; end if;
			end $$;
			select paidonce.on('invoice.paid', 'app.raise_once(jsonb)');
			update paidonce.handlers set position = -1 where handler = 'app.raise_once(jsonb)'`)
		e := s.linked().paid(fresh("in"))
		s.requireAnswer("500 failed", e)
		require.Zero(t, s.count("app.grants"))
		s.requireAnswer("200 processed", e)
		require.Equal(t, 1, s.count("app.grants"))
		require.Equal(t, 1, s.count("paidonce.outbox where event_id = $1 and action = 'email.receipt'", e.id))
		s.requireSound()
	})

	t.Run("given a handler that commits and whose answer is then lost as a 500 when the sender tries again then 200 and nothing new is written", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		inner := s.handler(secret)
		var calls atomic.Int32
		s.url = listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if calls.Add(1) > 1 {
				inner.ServeHTTP(w, r)
				return
			}
			unseen := httptest.NewRecorder()
			inner.ServeHTTP(unseen, r)
			if unseen.Code != http.StatusOK {
				t.Errorf("the first delivery was answered %d", unseen.Code)
			}
			http.Error(w, "{}", http.StatusInternalServerError)
		})).URL
		e := newBuyer().subscribed("created", "active", 0)
		require.Equal(t, 500, s.deliver(e).Status)
		before := s.written()
		s.requireAnswer("200 duplicate", e)
		require.Equal(t, before, s.written())
		require.Equal(t, 2, s.count("paidonce.deliveries"))
		s.requireSound()
	})

	t.Run("given a day's events when all have come and come again then there is one row an event id and one outbox row an action", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		var events []event
		for range 20 {
			b := newBuyer()
			events = append(events, b.paid(fresh("in")), b.checkout(), b.subscribed("updated", "active", 1), b.subscribed("created", "active", 0))
		}
		s.parallel(events...)
		pgtest.RunDue(t, s.db.Pool)
		before := s.written()
		for _, a := range s.parallel(events...) {
			require.Equal(t, "200 duplicate", a.String())
		}
		require.Equal(t, before, s.written())
		require.Equal(t, len(events), s.count("paidonce.events where status = 'processed'"))
		require.Equal(t, 20*3, s.count("paidonce.outbox where action <> 'stripe.refetch'"), "receipt, provisioning and welcome of each buyer")
		require.Zero(t, s.count("(select from paidonce.outbox group by event_id, action having count(*) > 1) as doubled"))
		s.requireSound()
	})
}

// written sums up every row that effects have written.
func (s *shop) written() string {
	s.t.Helper()
	return pgtest.One[string](s.t, s.db, `
		select md5(concat(
			(select string_agg(e::text, '|' order by event_id) from paidonce.events as e),
			(select string_agg(o::text, '|' order by id) from paidonce.outbox as o),
			(select string_agg(c::text, '|' order by customer_id) from paidonce.customers as c),
			(select string_agg(u::text, '|' order by subscription_id) from paidonce.subscriptions as u),
			(select string_agg(g::text, '|' order by grant_id) from app.grants as g),
			(select string_agg(r::text, '|' order by run_id) from app.runs as r)))`)
}
