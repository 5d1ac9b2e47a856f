package e2e_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// spend is a transaction of the user's own application that locks the customer as paidonce does.
func (s *shop) spend(b buyer, before string) func() answer {
	return func() answer {
		ctx := context.Background()
		for range 20 {
			err := pgx.BeginFunc(ctx, s.db.Pool, func(tx pgx.Tx) error {
				batch := &pgx.Batch{}
				if before != "" {
					batch.Queue(before, b.subscription)
				}
				batch.Queue("select from paidonce.customers where customer_id = $1 for update", b.customer)
				batch.Queue("insert into app.spends (customer_id) values ($1)", b.customer)
				return tx.SendBatch(ctx, batch).Close()
			})
			if err == nil {
				return answer{Status: 200, Outcome: "processed"}
			}
			if s.db.Pool.Ping(ctx) != nil {
				break
			}
		}
		return answer{Error: "the application's own transaction never came through"}
	}
}

func TestOneCustomerBusy(t *testing.T) {
	t.Parallel()
	run := func(s *shop, rounds int, before string) {
		b := s.linked()
		s.requireAnswer("200 processed", b.subscribed("created", "active", 0))
		for i := range rounds {
			events := []event{b.subscribed("updated", "active", int64(i+1)), b.paid(fresh("in")), b.checkout()}
			all := []func() answer{s.spend(b, before)}
			for _, e := range events {
				all = append(all, func() answer { return s.deliver(e) })
			}
			require.Equal(s.t, map[string]int{"200 processed": 4}, tally(together(all...)), "round %d", i)
		}
		require.Equal(s.t, rounds, s.count("app.grants"))
		require.Equal(s.t, rounds, s.count("app.spends"))
		require.Equal(s.t, 3*rounds+2, s.count("app.runs"))
		require.EqualValues(s.t, start+int64(rounds), pgtest.One[int64](s.t, s.db,
			"select extract(epoch from as_of)::bigint from paidonce.subscriptions where subscription_id = $1", b.subscription))
		require.EqualValues(s.t, rounds+1, pgtest.One[int64](s.t, s.db,
			"select generation from paidonce.subscriptions where subscription_id = $1", b.subscription))
		s.requireSound()
	}

	t.Run("given one customer when three of its events and a transaction of the user's meet, 200 times, then no effect is lost and nobody sees a deadlock", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		run(s, 200, "")
		require.Zero(t, pgtest.One[int64](t, s.db, "select deadlocks from pg_stat_database where datname = current_database()"))
	})

	t.Run("given a transaction of the user's that locks in the other order when they meet, 20 times, then deadlocks are retried and no effect is lost", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		_, err := s.db.Superuser(t).Exec(t.Context(), "alter database "+pgx.Identifier{s.db.Name}.Sanitize()+" set deadlock_timeout = '20ms'")
		require.NoError(t, err)
		s.db.Pool.Reset()
		s.url = listen(t, s.handler(secret)).URL // connections of the handler, too, must know the setting
		run(s, 20, "select pg_sleep(0.005) from paidonce.subscriptions where subscription_id = $1 for update")
	})
}
