package order_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	exhaustive = 6   // up to so many events, every order is delivered
	shuffles   = 700 // of a longer story, so many random orders
	tidy       = 60  // so many orders are tried before the tables are emptied
	parallels  = 12  // so many times each story is delivered by four connections at once
)

func TestGivenAnyStory_WhenDeliveredInEveryOrder_ThenItEndsTheSame(t *testing.T) {
	var orders atomic.Int64
	t.Run("stories", func(t *testing.T) {
		for _, s := range append(slices.Clone(stories), long...) {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				checked, differences := compare(t, pgtest.New(t).Pool, s, ordersOf(s))
				require.Empty(t, differences, "orders that end otherwise than the true one")
				orders.Add(int64(checked))
			})
		}
	})
	t.Logf("%d stories × their orders = %d orders checked, 0 differences", len(stories)+len(long), orders.Load())
}

func TestGivenAnyStory_WhenDeliveredInParallelWithDuplicates_ThenItEndsTheSame(t *testing.T) {
	db := pgtest.New(t)
	for _, s := range append(slices.Clone(stories), long...) {
		t.Run(s.name, func(t *testing.T) {
			want := trueEnd(t, db.Pool, s)
			random := rand.New(rand.NewPCG(1, 2))
			for range parallels {
				require.Equal(t, want, parallelEnd(t, db.Pool, s, random))
			}
			db.Exec(t, forget)
		})
	}
}

// ordersOf lists the orders to try: every one of a short story, random ones of
// a long story. Every event stands twice, its second time at a random place.
func ordersOf(s story) [][]int {
	random := rand.New(rand.NewPCG(uint64(len(s.name)), 7))
	var orders [][]int
	if len(s.events) <= exhaustive {
		permute(len(s.events), func(order []int) { orders = append(orders, slices.Clone(order)) })
	} else {
		for range shuffles {
			orders = append(orders, random.Perm(len(s.events)))
		}
	}
	for i := range orders {
		for _, twice := range random.Perm(len(s.events))[:2] {
			at := random.IntN(len(orders[i]) + 1)
			orders[i] = slices.Insert(orders[i], at, twice)
		}
	}
	return orders
}

func permute(n int, visit func([]int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var swap func(int)
	swap = func(k int) {
		if k == n {
			visit(order)
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			swap(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	swap(0)
}

// compare delivers a story in the given orders, each in a transaction that is
// rolled back, and reports how many it tried and which ended otherwise than the
// true order.
func compare(t *testing.T, pool *pgxpool.Pool, s story, orders [][]int) (checked int, differences []string) {
	t.Helper()
	want := trueEnd(t, pool, s)

	for i, order := range orders {
		if i%tidy == 0 {
			_, err := pool.Exec(t.Context(), forget) // what was rolled back lies in the tables all the same
			require.NoError(t, err)
		}
		var got string
		require.NoError(t, inTransaction(t.Context(), pool, func(tx pgx.Tx) (err error) {
			got, err = end(t.Context(), tx, s, order)
			return err
		}))
		if got != want && len(differences) < 3 {
			differences = append(differences, fmt.Sprintf("order %v\n%s", order, firstDifference(want, got)))
		}
	}
	return len(orders), differences
}

// trueEnd delivers a story in its true order and checks that its end is right.
func trueEnd(t *testing.T, pool *pgxpool.Pool, s story) (state string) {
	t.Helper()
	order := make([]int, len(s.events))
	for i := range order {
		order[i] = i
	}
	var right bool
	err := inTransaction(t.Context(), pool, func(tx pgx.Tx) (err error) {
		if state, err = end(t.Context(), tx, s, order); err != nil {
			return err
		}
		return tx.QueryRow(t.Context(), "select "+s.ends).Scan(&right)
	})
	require.NoError(t, err)
	require.True(t, right, "the true order must end with %s, but ends with\n%s", s.ends, state)
	return state
}

func end(ctx context.Context, tx pgx.Tx, s story, order []int) (state string, err error) {
	if s.setup != "" {
		if _, err := tx.Exec(ctx, s.setup); err != nil {
			return "", err
		}
	}
	events := make([]string, len(order))
	for i, n := range order {
		events[i] = s.events[n]
	}
	if _, err := tx.Exec(ctx, deliver, events); err != nil {
		return "", err
	}
	if _, err := tx.Exec(ctx, "select paidonce.run_due(1000)"); err != nil {
		return "", err
	}
	err = tx.QueryRow(ctx, readState).Scan(&state)
	return state, err
}

// parallelEnd commits a story from four connections, every event twice, and
// repeats what Postgres asks to repeat, as Stripe and the handler do.
func parallelEnd(t *testing.T, pool *pgxpool.Pool, s story, random *rand.Rand) (state string) {
	t.Helper()
	ctx := t.Context()
	_, err := pool.Exec(ctx, forget)
	require.NoError(t, err)
	if s.setup != "" {
		_, err = pool.Exec(ctx, s.setup)
		require.NoError(t, err)
	}

	twice := append(slices.Clone(s.events), s.events...)
	random.Shuffle(len(twice), func(i, j int) { twice[i], twice[j] = twice[j], twice[i] })
	var group errgroup.Group
	group.SetLimit(4)
	for _, event := range twice {
		group.Go(func() error { return untilDone(ctx, pool, event) })
	}
	require.NoError(t, group.Wait())
	pgtest.RunDue(t, pool)
	require.NoError(t, pool.QueryRow(ctx, readState).Scan(&state))
	return state
}
