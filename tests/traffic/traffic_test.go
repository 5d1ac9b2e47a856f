package traffic_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
	"github.com/paidonce/paidonce/internal/testing/traffic"
)

const customers = 40

// readEnds reads what each customer has. An order of arrival may show in none of it.
const readEnds = `
	select c.customer_id, jsonb_build_object(
		'user', c.user_id,
		'subscriptions', (
			select jsonb_agg(jsonb_build_array(s.subscription_id, s.status, s.current_period_start, s.current_period_end, s.as_of,
				(select jsonb_agg(to_jsonb(i) order by i.item_id) from paidonce.subscription_items as i where i.subscription_id = s.subscription_id))
				order by s.subscription_id)
			from paidonce.subscriptions as s where s.customer_id = c.customer_id),
		'invoices', (select jsonb_agg(jsonb_build_array(n.invoice_id, n.status, n.amount_paid) order by n.invoice_id)
			from paidonce.invoices as n where n.customer_id = c.customer_id),
		'balances', (select jsonb_agg(jsonb_build_array(b.user_id, b.balance) order by b.user_id)
			from paidonce.credit_balances as b where b.customer_id = c.customer_id),
		'entitlements', (select jsonb_agg(jsonb_build_array(e.user_id, e.feature, e.subscription_id, e.until) order by e.user_id, e.feature)
			from paidonce.entitlements as e where e.customer_id = c.customer_id),
		'not done', (select jsonb_agg(jsonb_build_array(e.event_id, e.event_type, e.status, e.error) order by e.event_id)
			from paidonce.events as e where e.customer_id = c.customer_id and e.status in ('failed', 'parked'))
	)::text
	from paidonce.customers as c`

func ends(t *testing.T, db *pgtest.DB) map[string]string {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), readEnds)
	require.NoError(t, err)
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var customer, end string
		require.NoError(t, rows.Scan(&customer, &end))
		all[customer] = end
	}
	require.NoError(t, rows.Err())
	return all
}

// requireExpected compares with what the stories say, independently of any other run.
func requireExpected(t *testing.T, db *pgtest.DB, expected []traffic.Expectation) {
	t.Helper()
	const sql = `
		select concat_ws(' ', c.user_id,
			(select concat_ws('/', s.status, i.price_id) from paidonce.subscriptions as s
				join paidonce.subscription_items as i on i.subscription_id = s.subscription_id where s.customer_id = c.customer_id),
			(select string_agg(e.feature, ',') from paidonce.entitlements as e where e.customer_id = c.customer_id),
			(select sum(b.balance) from paidonce.credit_balances as b where b.customer_id = c.customer_id and b.user_id = c.user_id))
		from paidonce.customers as c where c.customer_id = $1`
	for _, e := range expected {
		want := e.User + " " + e.Status + "/" + e.Price + " " + e.Feature + " " + pgtest.One[string](t, db, "select $1::bigint::text", e.Credits)
		assert.Equal(t, want, pgtest.One[string](t, db, sql, e.Customer), e.Customer)
	}
}

func requireAudited(t *testing.T, db *pgtest.DB) {
	t.Helper()
	assert.Equal(t, "", pgtest.One[string](t, db, `
		select coalesce(string_agg(concat_ws(' ', a.check_name, a.subject, a.detail), E'\n'), '') from paidonce.audit as a`))
}

func TestBurst(t *testing.T) {
	t.Parallel()
	for _, version := range []string{traffic.Clover, traffic.Old} {
		t.Run("given the traffic of 40 customers in version "+version+" when it comes shuffled from 16 connections then nothing clashes, all is answered 200 and each ends as in Stripe's order", func(t *testing.T) {
			t.Parallel()
			g := traffic.Generator{Seed: 20261207, Version: version}
			rng := rand.New(rand.NewPCG(g.Seed, 16))
			burst, expected := g.Burst(rng, 0, customers, traffic.All...)

			db := pgtest.New(t)
			db.Exec(t, traffic.Setup)
			p := play(t, db, traffic.Repeat(rng, burst, 0.2), clients)
			t.Logf("%d events: answers %v, database errors %v, deadlocks %d", len(burst), p.answers, p.hidden, p.deadlocks)
			assert.Zero(t, p.deadlocks, "deadlocks")
			assert.Empty(t, p.hidden, "errors that the handler retried")
			assert.Zero(t, p.failedRun, "calls of the worker's that failed")
			for answer, n := range p.answers {
				assert.Contains(t, []string{"200 processed", "200 parked", "200 duplicate", "200 ignored"}, answer, "%d times", n)
			}
			requireExpected(t, db, expected)
			requireAudited(t, db)

			orderly := pgtest.New(t)
			orderly.Exec(t, traffic.Setup)
			var inOrder []traffic.Event
			for n := range customers {
				events, _ := g.Customer(n, traffic.All...)
				inOrder = append(inOrder, events...)
			}
			play(t, orderly, inOrder, 1)
			requireExpected(t, orderly, expected)
			want, got := ends(t, orderly), ends(t, db)
			assert.Len(t, got, len(want))
			for customer, end := range want {
				assert.Equal(t, end, got[customer], customer)
			}
		})
	}
}
