package facts_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// story is a set of events and what they must make of the tables, whatever the order in which they arrive.
type story struct {
	setup  string
	events []string
	then   []fact
	// inOrder keeps the events that must not be shuffled: where arrival itself is the story.
	inOrder bool
	// audit is what the audit must find; nothing, unless something is wrong in the story itself.
	audit string
}

// fact is a query of one text, and that text.
type fact struct{ query, want string }

const (
	balance   = "select coalesce(sum(balance), 0)::text from paidonce.credit_balances where user_id = 'u1'"
	grants    = "select count(*)::text from paidonce.credit_entries where kind = 'grant'"
	features  = "select coalesce(string_agg(distinct feature, ',' order by feature), 'none') from paidonce.entitlements where user_id = 'u1'"
	outcomes  = "select string_agg(distinct status, ',' order by status) from paidonce.events"
	statusIs  = "select string_agg(subscription_id || ' ' || status, ',' order by subscription_id) from paidonce.subscriptions"
	audit     = "select coalesce(string_agg(distinct check_name, ',' order by check_name), '') from paidonce.audit"
	actions   = "select coalesce(string_agg(action, ',' order by action, id), 'none') from paidonce.outbox where action not like 'stripe.%'"
	hundred   = "insert into paidonce.price_grants (price_id, credits) values ('price_pro', 100)"
	linked    = "select paidonce.link_customer('cus_1', 'u1')"
	processed = "processed"
)

// tell delivers a story in every order, then by several connections at once, and checks its end each time.
func tell(t *testing.T, db *pgtest.DB, s story) {
	t.Helper()
	db.Exec(t, forget)
	orders := [][]int{inOrder(len(s.events))}
	if !s.inOrder {
		orders = permutations(len(s.events))
	}
	for _, order := range orders {
		s.tryOrder(t, db, order)
	}
	if s.inOrder {
		return
	}
	random := rand.New(rand.NewPCG(3, 5))
	for round := range 4 {
		db.Exec(t, forget)
		if s.setup != "" {
			db.Exec(t, s.setup)
		}
		twice := slices.Concat(s.events, s.events)
		random.Shuffle(len(twice), func(i, j int) { twice[i], twice[j] = twice[j], twice[i] })
		require.NoError(t, together(len(twice), func(i int) error { return untilDone(t.Context(), db.Pool, twice[i]) }))
		s.require(t, db.Pool, fmt.Sprintf("in parallel, round %d", round))
	}
}

// tryOrder delivers a story in one order, then once more backwards, and leaves nothing behind.
func (s story) tryOrder(t *testing.T, db *pgtest.DB, order []int) {
	t.Helper()
	tx, err := db.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if s.setup != "" {
		_, err = tx.Exec(t.Context(), s.setup)
		require.NoError(t, err)
	}
	for _, n := range order {
		_, err = handle(t.Context(), tx, s.events[n])
		require.NoError(t, err)
	}
	pgtest.RunDue(t, tx)
	for _, n := range slices.Backward(order) {
		outcome, err := handle(t.Context(), tx, s.events[n])
		require.NoError(t, err)
		require.Contains(t, []string{"duplicate", "parked", "ignored"}, outcome)
	}
	s.require(t, tx, fmt.Sprintf("in the order %v", order))
}

// querier is a pool, a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (s story) require(t *testing.T, db querier, how string) {
	t.Helper()
	pgtest.RunDue(t, db)
	for _, f := range append(slices.Clone(s.then), fact{audit, s.audit}) {
		var got string
		require.NoError(t, db.QueryRow(t.Context(), f.query).Scan(&got), f.query)
		require.Equal(t, f.want, got, "%s: %s", how, f.query)
	}
}

// handle delivers one event and returns the outcome.
func handle(ctx context.Context, db querier, event string) (outcome string, err error) {
	var failure string
	err = db.QueryRow(ctx, "select h ->> 'outcome', coalesce(h ->> 'error', '') from public.handle_stripe_event($1::jsonb) as h", event).
		Scan(&outcome, &failure)
	if err == nil && outcome == "failed" {
		err = fmt.Errorf("an effect failed: %s: %s", failure, event)
	}
	return outcome, err
}

// untilDone delivers one event, again while Postgres asks for it, as the handler and Stripe do.
func untilDone(ctx context.Context, pool *pgxpool.Pool, event string) error {
	for {
		_, err := handle(ctx, pool, event)
		if !again(err) {
			return err
		}
	}
}

// again says whether an error asks to try again.
func again(err error) bool {
	var failure *pgconn.PgError
	return errors.As(err, &failure) && (failure.Code == pgerrcode.DeadlockDetected || failure.Code == pgerrcode.LockNotAvailable)
}

// together runs n of them at once.
func together(n int, run func(i int) error) error {
	errs := make([]error, n)
	gate := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-gate
			errs[i] = run(i)
		})
	}
	close(gate)
	group.Wait()
	return errors.Join(errs...)
}

func inOrder(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// permutations are the orders of n events, at most 6!.
func permutations(n int) (all [][]int) {
	order := inOrder(n)
	var swap func(k int)
	swap = func(k int) {
		if k == n {
			all = append(all, slices.Clone(order))
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			swap(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	swap(0)
	return all
}

// forget empties every table that events write.
const forget = `
do $$
declare
    v_table text;
begin
    foreach v_table in array '{events,deliveries,due_work,customers,subscription_items,subscriptions,checkout_sessions,invoice_lines,invoices,
        payments,refunds,disputes,purchase_objects,prices,products,entitlement_summaries,credit_entries,outbox,link_conflicts,
        price_grants}'::text[] loop
        execute format('delete from paidonce.%I', v_table);
    end loop;
end
$$`

// exampleApp is the application of tests/example: effects of a user's own.
func exampleApp(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../example/app.sql")
	require.NoError(t, err)
	return string(text)
}

// tellAll tells each story, one after the other, in one database.
func tellAll(t *testing.T, app string, stories map[string]story) {
	t.Helper()
	db := pgtest.New(t)
	if app != "" {
		db.Exec(t, app)
	}
	for name, s := range stories {
		t.Run(name, func(t *testing.T) { tell(t, db, s) })
	}
}
