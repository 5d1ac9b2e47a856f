package e2e_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// replay runs a stored event again, as the owner.
func (s *shop) replay(e event, force bool) string {
	s.t.Helper()
	return pgtest.One[string](s.t, s.db, "select paidonce.replay($1, $2) ->> 'outcome'", e.id, force)
}

func TestReplay(t *testing.T) {
	t.Parallel()

	t.Run("given a failed event of two days ago when it is replayed then it is applied, whatever its age", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := s.linked()
		s.db.Exec(t, "create trigger broken before insert on app.grants for each row execute function app.out_of_order()")
		e := b.paid(fresh("in")).with(fields{"created": time.Now().Add(-48 * time.Hour).Unix()})
		s.requireAnswer("500 failed", e)
		s.db.Exec(t, "update paidonce.events set received_at = received_at - interval '2 days' where event_id = $1", e.id)
		s.db.Exec(t, "drop trigger broken on app.grants")
		require.Equal(t, "processed", s.replay(e, false))
		require.Equal(t, "duplicate", s.replay(e, false))
		require.Equal(t, 1, s.count("app.grants"))
		require.Equal(t, 2, s.count("paidonce.deliveries where event_id = $1 and source = 'replay'", e.id))
		s.requireSound()
	})

	t.Run("given an ignored event when a handler is registered and it is replayed then it is applied", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		e := newEvent("payout.paid", 0, fields{"id": fresh("po"), "object": "payout"})
		s.requireAnswer("200 ignored", e)
		require.Equal(t, "duplicate", s.replay(e, false))
		s.db.Exec(t, "select paidonce.on('payout.*', 'app.run(jsonb)')")
		require.Equal(t, "processed", s.replay(e, false))
		require.Equal(t, 1, s.count("app.runs where event_id = $1", e.id))
		s.requireSound()
	})

	t.Run("given a failed event when it is replayed and redelivered at once then it has its effect once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := s.linked()
		for range 20 {
			s.db.Exec(t, "create trigger broken before insert on app.grants for each row execute function app.out_of_order()")
			e := b.paid(fresh("in"))
			s.requireAnswer("500 failed", e)
			s.db.Exec(t, "drop trigger broken on app.grants")
			outcomes := together(
				func() string { return s.replay(e, false) },
				func() string { return s.deliver(e).Outcome },
				func() string { return s.deliver(e).Outcome },
			)
			require.ElementsMatch(t, []string{"processed", "duplicate", "duplicate"}, outcomes)
		}
		require.Equal(t, 20, s.count("app.grants"))
		s.requireSound()
	})

	t.Run("given a processed event when it is replayed by force then it runs once more", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		e := s.linked().paid(fresh("in"))
		s.requireAnswer("200 processed", e)
		require.Equal(t, "processed", s.replay(e, true))
		require.Equal(t, 2, s.count("app.runs where event_id = $1", e.id))
		require.Equal(t, 1, s.count("paidonce.outbox where event_id = $1 and action = 'email.receipt'", e.id), "the key of the outbox row is the same")
		s.requireAnswer("200 duplicate", e)
	})

	t.Run("given a processed event when a replay by force fails then it stays processed, and no redelivery runs it again", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		e := s.linked().paid(fresh("in"))
		s.requireAnswer("200 processed", e)
		s.db.Exec(t, "create trigger broken before insert on app.grants for each row execute function app.out_of_order()")
		_, err := s.db.Pool.Exec(t.Context(), "select paidonce.replay($1, true)", e.id)
		require.ErrorContains(t, err, "the effect is out of order")
		s.db.Exec(t, "drop trigger broken on app.grants")
		require.Equal(t, "processed", s.status(e), "the effects of the first run are still there")
		s.requireAnswer("200 duplicate", e)
		require.Equal(t, 1, s.count("app.runs where event_id = $1", e.id))
		s.requireSound()
	})

	t.Run("given a processed event without a handler now when it is replayed by force then it stays processed", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.db.Exec(t, "select paidonce.on('payout.*', 'app.run(jsonb)')")
		e := newEvent("payout.paid", 0, fields{"id": fresh("po"), "object": "payout"})
		s.requireAnswer("200 processed", e)
		s.db.Exec(t, "select paidonce.off('payout.*', 'app.run(jsonb)')")
		_, err := s.db.Pool.Exec(t.Context(), "select paidonce.replay($1, true)", e.id)
		require.ErrorContains(t, err, "no handler for payout.paid")
		s.db.Exec(t, "select paidonce.on('payout.*', 'app.run(jsonb)')")
		s.requireAnswer("200 duplicate", e)
		require.Equal(t, 1, s.count("app.runs where event_id = $1", e.id))
		s.requireSound()
	})

	t.Run("given a failed event processed by a delivery while a replay by force waits for it when the replay fails then it stays processed", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		e := s.linked().paid(fresh("in"))
		// The effect works, or not, as the session likes.
		s.db.Exec(t, `
			create function app.as_told() returns trigger language plpgsql as $$
			begin
				if current_setting('app.broken', true) = 'yes' then raise exception 'as told'; end if;
				return new;
			end $$;
			create trigger as_told before insert on app.grants for each row execute function app.as_told()`)
		broken := s.begin(pgx.ReadCommitted)
		_, err := broken.Exec(t.Context(), "set local app.broken = 'yes'")
		require.NoError(t, err)
		require.Equal(t, "failed", handle(broken, e))
		require.NoError(t, broken.Commit(t.Context()))

		held := s.begin(pgx.ReadCommitted)
		require.Equal(t, "processed", handle(held, e))
		forced := s.begin(pgx.ReadCommitted)
		_, err = forced.Exec(t.Context(), "set local app.broken = 'yes'")
		require.NoError(t, err)
		replayed := make(chan error, 1)
		go func() {
			_, err := forced.Exec(context.Background(), "select paidonce.replay($1, true)", e.id)
			replayed <- errors.Join(err, forced.Commit(context.Background()))
		}()
		s.requireWaiting(1)
		require.NoError(t, held.Commit(t.Context()))
		require.Error(t, <-replayed)
		require.Equal(t, "processed", s.status(e))
		s.requireSound()
	})
}
