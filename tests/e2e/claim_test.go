package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// linked returns a buyer whose checkout has already been processed.
func (s *shop) linked() buyer {
	s.t.Helper()
	b := newBuyer()
	s.requireAnswer("200 processed", b.checkout())
	pgtest.RunDue(s.t, s.db.Pool)
	return b
}

func TestOneEventManyTimes(t *testing.T) {
	t.Parallel()

	t.Run("given a paid invoice when it is delivered 20 times at once and once more then there is one event, one grant, one outbox row", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := s.linked()
		e := b.paid(fresh("in"))
		answers := together(times(20, func() answer { return s.deliver(e) })...)
		require.Equal(t, map[string]int{"200 processed": 1, "200 duplicate": 19}, tally(answers))
		s.requireAnswer("200 duplicate", e)
		require.Equal(t, 1, s.count("paidonce.events where event_id = $1", e.id))
		require.Equal(t, 1, s.count("app.grants where user_id = $1", b.user))
		require.Equal(t, 1, s.count("paidonce.outbox where event_id = $1 and action = 'email.receipt'", e.id))
		require.Equal(t, 21, s.count("paidonce.deliveries where event_id = $1", e.id))
		require.Equal(t, 1, pgtest.One[int](t, s.db, "select attempts from paidonce.events where event_id = $1", e.id))
		s.requireSound()
	})

	t.Run("given two handlers on one database when both get the event at once and again after a restart then there is one effect", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := s.linked()
		e := b.paid(fresh("in"))
		deliverToBoth := func() []answer {
			first, second := listen(t, s.handler(secret)), listen(t, s.handler(secret))
			defer first.Close()
			defer second.Close()
			all := times(5, func() answer { return s.deliverTo(first.URL, secret, e.body()) })
			all = append(all, times(5, func() answer { return s.deliverTo(second.URL, secret, e.body()) })...)
			return together(all...)
		}
		require.Equal(t, map[string]int{"200 processed": 1, "200 duplicate": 9}, tally(deliverToBoth()))
		require.Equal(t, map[string]int{"200 duplicate": 10}, tally(deliverToBoth()))
		require.Equal(t, 1, s.count("app.grants"))
		s.requireSound()
	})

	t.Run("given two secrets when one event is signed with either at once then both are accepted and there is one effect", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := s.linked()
		url := listen(t, s.handler("whsec_a", "whsec_b")).URL
		for range 20 {
			e := b.paid(fresh("in"))
			answers := together(
				func() answer { return s.deliverTo(url, "whsec_a", e.body()) },
				func() answer { return s.deliverTo(url, "whsec_b", e.body()) },
			)
			require.Equal(t, map[string]int{"200 processed": 1, "200 duplicate": 1}, tally(answers))
		}
		e := b.paid(fresh("in"))
		require.Equal(t, 400, s.deliverTo(url, "whsec_c", e.body()).Status)
		require.Empty(t, s.status(e))
		require.Equal(t, 20, s.count("app.grants"))
		s.requireSound()
	})
}

func TestTwoEventsOneFact(t *testing.T) {
	t.Parallel()

	t.Run("given two event objects for one paid invoice when both arrive at once then both are kept and the effect is one", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.db.Exec(t, "alter table app.grants add unique (invoice_id)")
		b := s.linked()
		for range 30 {
			invoice := fresh("in")
			first, second := b.paid(invoice), b.paid(invoice)
			require.Equal(t, map[string]int{"200 processed": 2}, tally(s.parallel(first, second)))
			require.Equal(t, 1, s.count("app.grants where invoice_id = $1", invoice))
			require.Equal(t, 1, s.count("paidonce.outbox where action = 'email.receipt' and event_id in ($1, $2)", first.id, second.id))
		}
		s.requireSound()
	})
}

func TestOnePurchaseSeveralEvents(t *testing.T) {
	t.Parallel()

	t.Run("given one purchase when its three events arrive at once, 50 times, then there is one subscription a time and nobody sees an error", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		for range 50 {
			b := newBuyer()
			for _, a := range s.parallel(b.subscribed("created", "active", 0), b.checkout(), b.paid(fresh("in"))) {
				require.Equal(t, 200, a.Status, a)
			}
			require.Equal(t, 1, s.count("paidonce.subscriptions where customer_id = $1", b.customer))
			require.Equal(t, 1, s.count("app.grants where user_id = $1", b.user), "also when the invoice came first and had to wait")
		}
		require.Equal(t, 150, s.count("paidonce.events where status = 'processed'"))
		s.requireSound()
	})

	t.Run("given a new subscription when created and updated arrive at once, 50 times, then created has its effect and the welcome is asked for once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		for range 50 {
			b := newBuyer()
			created, updated := b.subscribed("created", "incomplete", 0), b.subscribed("updated", "active", 1)
			require.Equal(t, map[string]int{"200 processed": 2}, tally(s.parallel(created, updated)))
			require.Equal(t, 1, s.count("paidonce.outbox where idempotency_key = $1", "welcome:"+b.subscription))
			require.Equal(t, 1, s.count("paidonce.outbox where idempotency_key = $1", created.id+":http.provision"))
			require.Equal(t, "active", pgtest.One[string](t, s.db,
				"select status from paidonce.subscriptions where subscription_id = $1", b.subscription))
		}
		s.requireSound()
	})
}
