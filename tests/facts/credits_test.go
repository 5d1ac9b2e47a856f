package facts_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestSpending(t *testing.T) {
	t.Parallel()

	t.Run("given 1000 credits when forty connections spend 50 each then twenty succeed and the balance is zero", func(t *testing.T) {
		t.Parallel()
		db := withCredits(t, 1000)
		var done atomic.Int64
		require.NoError(t, together(40, func(i int) error {
			err := spend(t.Context(), db.Pool, "u1", 50, fmt.Sprint(i))
			if tooLittle(err) {
				return nil
			}
			done.Add(1)
			return err
		}))
		require.EqualValues(t, 20, done.Load())
		require.Equal(t, "0", pgtest.One[string](t, db, balance))
		require.Empty(t, pgtest.One[string](t, db, audit))
	})

	t.Run("given one key when many connections spend under it then it is spent once", func(t *testing.T) {
		t.Parallel()
		db := withCredits(t, 1000)
		require.NoError(t, together(20, func(int) error { return spend(t.Context(), db.Pool, "u1", 70, "same") }))
		require.Equal(t, "930", pgtest.One[string](t, db, balance))
	})

	t.Run("given credits through several customers when they are spent then each customer's balance stays above zero", func(t *testing.T) {
		t.Parallel()
		db := withCredits(t, 100)
		for i := range 3 {
			e := renumber(i, event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 100, line("pro", 100, 1))))[0]
			db.Exec(t, fmt.Sprintf("select paidonce.link_customer('cus_1x%d', 'u1')", i))
			require.NoError(t, untilDone(t.Context(), db.Pool, e))
		}
		require.NoError(t, together(20, func(i int) error {
			err := spend(t.Context(), db.Pool, "u1", 35, fmt.Sprint(i))
			if tooLittle(err) {
				return nil
			}
			return err
		}))
		require.Equal(t, "15", pgtest.One[string](t, db, balance), "400 credits hold eleven times 35")
		require.Zero(t, pgtest.One[int](t, db, "select count(*) from paidonce.credit_balances where balance < 0"))
	})

	t.Run("given spending and refunds at once when all are done then the balance is below zero by no more than what was spent, and the ledger adds up", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		db.Exec(t, hundred)
		for i := range 20 {
			for _, e := range renumber(i,
				event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1)).with(obj{"payment_intent": "pi_1"})),
				event("evt_2", "charge.succeeded", 0, charge(0)),
			) {
				db.Exec(t, fmt.Sprintf("select paidonce.link_customer('cus_1x%d', 'u1')", i))
				require.NoError(t, untilDone(t.Context(), db.Pool, e))
			}
		}
		require.Equal(t, "2000", pgtest.One[string](t, db, balance))
		var spent atomic.Int64
		require.NoError(t, together(40, func(i int) error {
			if i%2 == 0 {
				return untilDone(t.Context(), db.Pool, renumber(i/2, event("evt_3", "charge.refunded", 9, charge(1000)))[0])
			}
			err := spend(t.Context(), db.Pool, "u1", 90, fmt.Sprint(i))
			if err == nil {
				spent.Add(90)
			}
			if tooLittle(err) {
				return nil
			}
			return err
		}))
		require.Equal(t, fmt.Sprint(-spent.Load()), pgtest.One[string](t, db, balance), "all was refunded: what was spent is owed")
		require.Equal(t, pgtest.One[string](t, db, "select sum(amount)::text from paidonce.credit_entries"), pgtest.One[string](t, db, balance))
		pgtest.RunDue(t, db.Pool)
		require.Empty(t, pgtest.One[string](t, db, audit))
		require.True(t, tooLittle(spend(t.Context(), db.Pool, "u1", 1, "more")), "nothing more can be spent")
	})
}

// withCredits is a database in which u1 bought so many credits through cus_1.
func withCredits(t *testing.T, credits int) *pgtest.DB {
	t.Helper()
	db := pgtest.New(t)
	db.Exec(t, "insert into paidonce.price_grants (price_id, credits) values ('price_pro', $1)", credits)
	db.Exec(t, linked)
	require.NoError(t, untilDone(t.Context(), db.Pool, event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1)))))
	return db
}

// What waits for a price: granted once it is known, by whatever makes it known, and never changed afterwards.
func TestUnresolved(t *testing.T) {
	t.Parallel()
	invoicePaid := event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 2)))
	const edited = "select count(*)::text from paidonce.credit_entries where kind <> 'grant'"
	for name, later := range map[string]struct {
		events []string
		sql    string
		want   string
	}{
		"given a price of its own credits when price.created arrives": {events: []string{event("evt_2", "price.created", 5, price("pro", obj{"credits": "40"}))}, want: "80"},
		"given a product with credits when price and product arrive": {events: []string{
			event("evt_2", "price.created", 5, price("pro", obj{})), event("evt_3", "product.created", 5, product("pro", obj{"credits": "30"}))}, want: "60"},
		"given a product with credits when product and price arrive": {events: []string{
			event("evt_3", "product.created", 5, product("pro", obj{"credits": "30"})), event("evt_2", "price.created", 5, price("pro", obj{}))}, want: "60"},
		"given a plan of an old version when plan.created arrives": {events: []string{event("evt_2", "plan.created", 5,
			obj{"id": "price_pro", "object": "plan", "product": "prod_pro", "active": true, "amount": 1000, "metadata": obj{"credits": "40"}})}, want: "80"},
		"given the mapping table when a row is added": {sql: "insert into paidonce.price_grants (price_id, credits) values ('price_pro', 25)", want: "50"},
		"given a price without credits when both are known": {events: []string{
			event("evt_2", "price.created", 5, price("pro", obj{})), event("evt_3", "product.created", 5, product("pro", obj{}))}, want: "0"},
	} {
		t.Run(name+" then the paid line is granted, and later edits change nothing", func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			db.Exec(t, linked)
			require.NoError(t, untilDone(t.Context(), db.Pool, invoicePaid))
			require.Equal(t, "0", pgtest.One[string](t, db, balance))
			require.Equal(t, "price,product", pgtest.One[string](t, db, "select string_agg(payload ->> 'object', ',' order by payload ->> 'object') from paidonce.outbox where action = 'stripe.refetch'"))
			if later.sql != "" {
				db.Exec(t, later.sql)
			}
			for _, e := range later.events {
				require.NoError(t, untilDone(t.Context(), db.Pool, e))
			}
			pgtest.RunDue(t, db.Pool)
			require.Equal(t, later.want, pgtest.One[string](t, db, balance))

			for i, e := range []string{
				event("evt_8", "price.updated", 50, price("pro", obj{"credits": "999"})),
				event("evt_9", "product.updated", 50, product("pro", obj{"credits": "999"})),
				event("evt_7", "invoice.updated", 60, invoice("in_1", "paid", 1000, line("pro", 1000, 2))),
			} {
				require.NoError(t, untilDone(t.Context(), db.Pool, e), i)
			}
			db.Exec(t, "insert into paidonce.price_grants (price_id, credits) values ('price_pro', 1) on conflict (price_id, feature) do update set credits = 1")
			db.Exec(t, "select paidonce.replay('evt_1', true)")
			pgtest.RunDue(t, db.Pool)
			require.Equal(t, later.want, pgtest.One[string](t, db, balance), "a grant once made stays")
			require.Equal(t, "0", pgtest.One[string](t, db, edited))
			require.Empty(t, pgtest.One[string](t, db, audit))
		})
	}
}

// Every check of the audit is made to find something, once.
func TestAudit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ spoil, want string }{
		"given a ledger entry gone":            {"delete from paidonce.credit_entries where kind = 'grant'", "credits_do_not_add_up"},
		"given a ledger entry too much":        {"insert into paidonce.credit_entries (amount, customer_id, user_id, kind, source_key, purchase_id) values (5, 'cus_1', 'u1', 'grant', 'x', 'in_1')", "credits_do_not_add_up"},
		"given an amount that was changed":     {"update paidonce.credit_entries set amount = 99 where kind = 'grant'", "credits_do_not_add_up"},
		"given a refund that was lost":         {"delete from paidonce.payments where kind = 'charge'", "credits_do_not_add_up"},
		"given a grant of no purchase":         {"insert into paidonce.credit_entries (amount, user_id, kind, source_key, purchase_id) values (5, 'u1', 'grant', 'x', 'in_none')", "credits_of_no_purchase"},
		"given a paid line never fixed":        {"update paidonce.invoice_lines set credits = null", "credits_not_granted"},
		"given an event row gone":              {"delete from paidonce.events where event_type = 'customer.subscription.created'", "effect_without_event"},
		"given an invoice's event gone":        {"delete from paidonce.events where event_type = 'invoice.paid'", "effect_without_event"},
		"given a subscription gone":            {"delete from paidonce.subscriptions", "event_without_effect"},
		"given an invoice gone":                {"delete from paidonce.invoices", "event_without_effect"},
		"given an event that failed":           {"update paidonce.events set status = 'failed', processed_at = null, error = 'x', sqlstate = 'P0001' where event_type = 'customer.updated'", "event_failed"},
		"given an event left behind by a link": {"update paidonce.events set status = 'parked', processed_at = null, error = 'x', sqlstate = 'PO404' where event_type = 'customer.updated'", "parked_though_linked"},
		"given spending nobody could afford":   {"insert into paidonce.credit_entries (amount, user_id, kind, source_key, purchase_id) values (-5, 'u9', 'reversal', 'x', 'in_1')", "balance_below_what_was_spent"},
		"given a link that contradicts":        {"select paidonce.link_customer('cus_1', 'u2')", "link_contradicted"},
		"given a refund of nobody knows what":  {"select public.handle_stripe_event('" + event("evt_9", "refund.created", 0, refund("re_9", "succeeded", 5).with(obj{"charge": "ch_9", "payment_intent": "pi_9"})) + "')", "reversal_without_purchase"},
		"given work that nobody does":          {"insert into paidonce.due_work (kind, subject) values ('customer', 'cus_1')", "due_and_not_done"},
		"given an outbox row of no event":      {"insert into paidonce.outbox (event_id, action, payload, idempotency_key) values ('evt_none', 'email.x', '{}', 'x')", "effect_without_event"},
	} {
		t.Run(name+" when the audit is read then it is found", func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			db.Exec(t, hundred)
			for _, e := range []string{
				event("evt_0", "checkout.session.completed", 0, checkout("cs_1", "subscription").with(obj{"invoice": "in_1"})),
				event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "active", "pro")),
				event("evt_2", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1)).with(obj{"payment_intent": "pi_1"})),
				event("evt_3", "charge.refunded", 5, charge(250)),
				event("evt_4", "customer.updated", 6, customer("cus_1", obj{})),
			} {
				require.NoError(t, untilDone(t.Context(), db.Pool, e))
			}
			pgtest.RunDue(t, db.Pool)
			require.Empty(t, pgtest.One[string](t, db, audit))
			db.Exec(t, tc.spoil)
			require.Contains(t, pgtest.One[string](t, db, audit), tc.want)
			require.NotEmpty(t, pgtest.One[string](t, db, "select detail || subject from paidonce.audit where check_name = $1 limit 1", tc.want))
		})
	}

	t.Run("given the audit's checks when they are counted then every one of them is in this test", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		require.Equal(t, "balance_below_what_was_spent,credits_do_not_add_up,credits_not_granted,credits_of_no_purchase,due_and_not_done,effect_without_event,event_failed,event_without_effect,"+
			"link_contradicted,parked_though_linked,reversal_without_purchase", pgtest.One[string](t, db, `
			select string_agg(distinct m[1], ',' order by m[1])
			from regexp_matches(pg_get_viewdef('paidonce.audit'), 'SELECT\s+''(\w+)''::text', 'g') as m`))
	})
}
