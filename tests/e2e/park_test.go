package e2e_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func (s *shop) link(b buyer) bool {
	s.t.Helper()
	return pgtest.One[bool](s.t, s.db, "select paidonce.link_customer($1, $2)", b.customer, b.user)
}

func TestParked(t *testing.T) {
	t.Parallel()

	t.Run("given a customer that nobody knows when its invoice comes ten times and then its checkout then the invoice is run once by itself", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := newBuyer()
		e := b.paid(fresh("in"))
		for range 10 {
			s.requireAnswer("200 parked", e)
		}
		require.Zero(t, s.count("app.grants")+s.count("app.runs")+s.count("paidonce.outbox"))
		require.Equal(t, "customer "+b.customer+" has no user yet", pgtest.One[string](t, s.db, "select error from paidonce.events where event_id = $1", e.id))
		s.requireSound()

		s.requireAnswer("200 processed", b.checkout())
		require.Equal(t, "processed", s.status(e))
		require.Equal(t, 1, s.count("app.grants where user_id = $1 and invoice_id = $2", b.user, e.object()))
		require.Equal(t, 1, s.count("paidonce.deliveries where event_id = $1 and source = 'link' and outcome = 'processed'", e.id))
		s.requireAnswer("200 duplicate", e)
		s.requireSound()
	})

	t.Run("given a customer that never gets a user when its invoice comes in parallel then every answer is 200 parked", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		e := newBuyer().paid(fresh("in"))
		require.Equal(t, map[string]int{"200 parked": 10}, tally(together(times(10, func() answer { return s.deliver(e) })...)))
		require.Equal(t, 10, s.count("paidonce.deliveries where event_id = $1", e.id))
		s.requireSound()
	})

	t.Run("given several parked events when the customer is linked by hand then all are run, the oldest first", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := newBuyer()
		var parked []event
		for i := range 30 {
			e := b.paid(fresh("in")).with(fields{"created": start + int64(100-i)})
			s.requireAnswer("200 parked", e)
			parked = append(parked, e)
		}
		require.True(t, s.link(b))
		require.Equal(t, 30, s.count("app.grants"))
		require.True(t, pgtest.One[bool](t, s.db, `
			select bool_and(created >= before or before is null)
			from (select e.created, lag(e.created) over (order by g.grant_id) as before from app.grants g join paidonce.events e using (event_id)) o`))
		s.requireAnswer("200 duplicate", parked[0])
		s.requireSound()
	})

	t.Run("given a parked event whose effect raises when the customer is linked then the link stands, the event is failed and a redelivery mends it", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := newBuyer()
		e := b.paid(fresh("in"))
		s.requireAnswer("200 parked", e)
		s.db.Exec(t, "create trigger broken before insert on app.grants for each row execute function app.out_of_order()")
		s.requireAnswer("200 processed", b.checkout())
		require.Equal(t, "failed", s.status(e))
		s.requireSound()
		s.db.Exec(t, "drop trigger broken on app.grants")
		s.requireAnswer("200 processed", e)
		s.requireSound()
	})

	t.Run("given a link whose own event fails afterwards when it is delivered then the parked event stays parked until the retry", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := newBuyer()
		e, checkout := b.paid(fresh("in")), b.checkout()
		s.requireAnswer("200 parked", e)
		s.db.Exec(t, `
			create function app.broken(event jsonb) returns void language plpgsql as $$ begin raise exception 'out of order'; end $$;
			select paidonce.on('checkout.session.completed', 'app.broken(jsonb)')`)
		s.requireAnswer("500 failed", checkout)
		require.Equal(t, "parked", s.status(e))
		s.requireSound()
		s.db.Exec(t, "select paidonce.off('checkout.session.completed', 'app.broken(jsonb)')")
		s.requireAnswer("200 processed", checkout)
		require.Equal(t, "processed", s.status(e))
		s.requireSound()
	})
}

func TestLinkHeldOpen(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*shop, buyer, event){
		"an event that was never seen": func(*shop, buyer, event) {},
		"an event that was never seen, a known customer": func(s *shop, b buyer, _ event) {
			s.requireAnswer("200 processed", b.subscribed("created", "active", 0))
		},
		"an event that is parked": func(s *shop, _ buyer, e event) { s.requireAnswer("200 parked", e) },
	} {
		t.Run("given a link not yet committed and "+name+" when the event arrives then it waits for the link and is processed", func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			b := newBuyer()
			e := b.paid(fresh("in"))
			before(s, b, e)
			held := s.begin(pgx.ReadCommitted)
			require.Equal(t, "processed", handle(held, b.checkout()))
			delivered := make(chan answer, 1)
			go func() { delivered <- s.deliver(e) }()
			s.requireWaiting(1)
			require.NoError(t, held.Commit(t.Context()))
			require.Equal(t, 200, (<-delivered).Status)
			require.Equal(t, "processed", s.status(e))
			s.requireSound()
		})

		t.Run("given "+name+" being delivered when the customer is linked then the link waits for it and runs it", func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			b := newBuyer()
			e := b.paid(fresh("in"))
			before(s, b, e)
			held := s.begin(pgx.ReadCommitted)
			require.Equal(t, "parked", handle(held, e))
			delivered := make(chan answer, 1)
			go func() { delivered <- s.deliver(b.checkout()) }()
			s.requireWaiting(1)
			require.NoError(t, held.Commit(t.Context()))
			require.Equal(t, "200 processed", (<-delivered).String())
			require.Equal(t, "processed", s.status(e))
			s.requireSound()
		})
	}
}

// soon runs it a moment later, so that every round meets the others at another point.
func soon(run func() answer) func() answer {
	return func() answer {
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		return run()
	}
}

func TestLinkRaces(t *testing.T) {
	t.Parallel()
	byCheckout := func(s *shop, b buyer) func() answer {
		e := b.checkout()
		return func() answer { return s.deliver(e) }
	}
	byHand := func(s *shop, b buyer) func() answer {
		return func() answer {
			var linked bool
			err := s.db.Pool.QueryRow(s.t.Context(), "select paidonce.link_customer($1, $2)", b.customer, b.user).Scan(&linked)
			if err != nil || !linked {
				return answer{Error: "link_customer did not link"}
			}
			return answer{Status: 200, Outcome: "processed"}
		}
	}
	for name, link := range map[string]func(*shop, buyer) func() answer{"its checkout": byCheckout, "link_customer": byHand} {
		t.Run("given an event that needs a link when it arrives together with "+name+", 100 times, then it is always processed, once", func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			for i := range 100 {
				b := newBuyer()
				e := b.paid(fresh("in"))
				if i%2 == 0 {
					s.requireAnswer("200 processed", b.subscribed("created", "active", 0))
				}
				for _, a := range together(soon(func() answer { return s.deliver(e) }), soon(link(s, b))) {
					require.Equal(t, 200, a.Status, a.Error)
				}
				require.Equal(t, "processed", s.status(e), "round %d", i)
			}
			require.Equal(t, 100, s.count("app.grants"))
			s.requireSound()
		})

		t.Run("given a parked event when redeliveries of it race with "+name+", 100 times, then it is always processed, once", func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			for i := range 100 {
				b := newBuyer()
				e, other := b.paid(fresh("in")), b.paid(fresh("in"))
				s.requireAnswer("200 parked", e)
				s.requireAnswer("200 parked", other)
				again := soon(func() answer { return s.deliver(e) })
				for _, a := range together(again, again, again, soon(link(s, b))) {
					require.Equal(t, 200, a.Status, a.Error)
				}
				require.Equal(t, "processed", s.status(e), "round %d", i)
				require.Equal(t, "processed", s.status(other), "round %d", i)
			}
			require.Equal(t, 200, s.count("app.grants"))
			s.requireSound()
		})
	}
}
