package e2e_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// begin opens a transaction of its own, which ends with the test at the latest.
func (s *shop) begin(level pgx.TxIsoLevel) pgx.Tx {
	s.t.Helper()
	tx, err := s.db.Pool.BeginTx(s.t.Context(), pgx.TxOptions{IsoLevel: level})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// handle calls the function through SQL and returns the outcome, or the SQLSTATE of its error.
func handle(tx interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}, e event) string {
	var raw []byte
	err := tx.QueryRow(context.Background(), "select public.handle_stripe_event($1::jsonb)", string(e.body())).Scan(&raw)
	if pgErr, ok := err.(*pgconn.PgError); ok {
		return pgErr.Code
	}
	if err != nil {
		return err.Error()
	}
	var d struct{ Outcome string }
	if err := json.Unmarshal(raw, &d); err != nil {
		return err.Error()
	}
	return d.Outcome
}

func TestTwinInFlight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end     func(pgx.Tx) error
		outcome string
	}{
		"committed":   {func(tx pgx.Tx) error { return tx.Commit(context.Background()) }, "200 duplicate"},
		"rolled back": {func(tx pgx.Tx) error { return tx.Rollback(context.Background()) }, "200 processed"},
	} {
		t.Run("given a delivery held open when its twin arrives and the first is "+name+" then the twin waits and answers "+c.outcome, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			e := s.linked().paid(fresh("in"))
			held := s.begin(pgx.ReadCommitted)
			require.Equal(t, "processed", handle(held, e))
			twin := make(chan answer, 1)
			go func() { twin <- s.deliver(e) }()
			s.requireWaiting(1)
			require.Empty(t, s.status(e), "nothing of it may be seen before the commit")
			require.NoError(t, c.end(held))
			require.Equal(t, c.outcome, (<-twin).String())
			require.Equal(t, 1, s.count("app.grants"))
			s.requireSound()
		})
	}
}

func TestStricterIsolation(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		t.Run("given "+string(level)+" when another session commits the event after the snapshot then the answer is 40001", func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			e := s.linked().paid(fresh("in"))
			tx := s.begin(level)
			_, err := tx.Exec(t.Context(), "select count(*) from paidonce.events")
			require.NoError(t, err)
			s.requireAnswer("200 processed", e)
			require.Equal(t, "40001", handle(tx, e))
			require.NoError(t, tx.Rollback(t.Context()))
			require.Equal(t, 1, s.count("app.grants"))
			s.requireSound()
		})

		t.Run("given "+string(level)+" when an event parks after the snapshot and is then linked then it is run or the answer is 40001", func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			b := newBuyer()
			s.requireAnswer("200 processed", newEvent("customer.created", 0, fields{"id": b.customer, "object": "customer"}))
			tx := s.begin(level)
			_, err := tx.Exec(t.Context(), "select count(*) from paidonce.events")
			require.NoError(t, err)
			e := b.paid(fresh("in"))
			s.requireAnswer("200 parked", e)
			s.endAs(handle(tx, b.checkout()), tx)
			if s.status(e) == "parked" { // then the link did not happen either, and comes with the retry
				require.Equal(t, "200 processed", s.deliver(b.checkout()).String())
			}
			require.Equal(t, "processed", s.status(e))
			s.requireSound()
		})

		t.Run("given "+string(level)+" when another event of the customer commits after the snapshot then no effect reads what was before", func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			// Its effect counts what the customer has been charged so far, so a stale read shows.
			s.db.Exec(t, `
				create table app.totals (event_id text, total bigint);
				create function app.total(event jsonb) returns void language plpgsql volatile set search_path = '' as $$
				begin
					insert into app.totals select event ->> 'id', count(*) from app.grants;
				end $$;
				select paidonce.on('invoice.finalized', 'app.total(jsonb)');`)
			b := s.linked()
			tx := s.begin(level)
			_, err := tx.Exec(t.Context(), "select count(*) from paidonce.events")
			require.NoError(t, err)
			s.requireAnswer("200 processed", b.paid(fresh("in")))
			total := newEvent("invoice.finalized", 2, fields{"id": fresh("in"), "object": "invoice", "customer": b.customer})
			s.endAs(handle(tx, total), tx)
			if s.status(total) == "" {
				s.requireAnswer("200 processed", total)
			}
			require.EqualValues(t, 1, pgtest.One[int64](t, s.db, "select total from app.totals where event_id = $1", total.id))
		})

		t.Run("given "+string(level)+" when many sessions take the same events at once and retry on 40001 then each has its effect once", func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			b := s.linked()
			for range 10 {
				e := b.paid(fresh("in"))
				outcomes := together(times(6, func() string { return s.handleAt(level, e) })...)
				require.Subset(t, []string{"processed", "duplicate"}, outcomes)
				require.Equal(t, "processed", s.status(e))
			}
			require.Equal(t, 10, s.count("app.grants"))
			s.requireSound()
		})
	}
}

// endAs commits what ended well; the only error that a stricter level may bring is the one that says try again.
func (s *shop) endAs(outcome string, tx pgx.Tx) {
	s.t.Helper()
	require.Contains(s.t, []string{"processed", "40001"}, outcome)
	if outcome == "processed" {
		require.NoError(s.t, tx.Commit(s.t.Context()))
		return
	}
	require.NoError(s.t, tx.Rollback(s.t.Context()))
}

// handleAt takes an event in a transaction of the level and starts anew, as a caller must, when told to. If
// the level as such is refused, the caller goes back to read committed.
func (s *shop) handleAt(level pgx.TxIsoLevel, e event) string {
	ctx := context.Background()
	for try := range 12 {
		if try > 5 {
			level = pgx.ReadCommitted
		}
		tx, err := s.db.Pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
		if err != nil {
			return err.Error()
		}
		outcome := handle(tx, e)
		if outcome != "40001" {
			if err := tx.Commit(ctx); err == nil {
				return outcome
			}
		}
		_ = tx.Rollback(ctx)
	}
	return "never"
}
