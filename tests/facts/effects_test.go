package facts_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// Effects of a user's own, those of tests/example, under the kit's facts.
func TestEffects(t *testing.T) {
	t.Parallel()
	failed := func(id string, attempt int) string {
		return event(id, "invoice.payment_failed", int64(attempt), invoice("in_1", "open", 1000).with(obj{"attempt_count": attempt}))
	}
	ending := func(id string, end int64) string {
		return event(id, "customer.subscription.trial_will_end", 0, subscription("sub_1", "trialing", "pro").with(obj{"trial_end": end}))
	}
	canceled := subscription("sub_1", "canceled", "pro").with(obj{"ended_at": now + 20})

	tellAll(t, exampleApp(t), map[string]story{
		"given a subscription that is over before its creation arrives when both have arrived then no access and no welcome": {
			setup: linked, inOrder: true,
			events: []string{
				event("evt_1", "customer.subscription.deleted", 20, canceled),
				event("evt_2", "customer.subscription.created", 0, subscription("sub_1", "active", "pro")),
			},
			then: []fact{{statusIs, "sub_1 canceled"}, {features, "none"}, {actions, "none"}},
		},
		"given two events that both show it active when they arrive then one welcome": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "active", "pro")),
				event("evt_2", "customer.subscription.updated", 1, subscription("sub_1", "active", "pro")),
			},
			then: []fact{{actions, "email.welcome"}},
		},
		"given an invoice that fails after the subscription is over when both have arrived then it stays over, at most one letter": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.deleted", 20, canceled),
				failed("evt_2", 1),
			},
			then: []fact{
				{statusIs, "sub_1 canceled"}, {outcomes, processed},
				{"select (count(*) <= 1)::text from paidonce.outbox where action = 'email.payment_failed'", "true"},
			},
		},
		"given a paid invoice of the new plan before the subscription says so when all have arrived then outbox rows carry ids alone": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "active", "basic")),
				event("evt_2", "invoice.paid", 1, invoice("in_1", "paid", 1000, line("pro", 1000, 1))),
				event("evt_3", "customer.subscription.updated", 2, subscription("sub_1", "active", "pro")),
			},
			then: []fact{
				{"select count(*)::text from paidonce.outbox as o, jsonb_each_text(o.payload) as p where p.key not in ('object', 'id', 'account', 'invoice', 'subscription')", "0"},
				{features, "pro"}, {"select plan from app.workspaces", "price_pro"},
			},
		},
		"given a trial that ends at once and one in three days when each is told twice then two letters that differ": {
			setup:  linked,
			events: []string{ending("evt_1", now), ending("evt_2", now+3*day)},
			then: []fact{
				{"select string_agg(action, ',' order by action) from paidonce.outbox where action like 'email.trial%'", "email.trial_ending,email.trial_over"},
				{statusIs, "sub_1 trialing"},
			},
		},
		"given a payment that fails three times when each is told twice then one letter per attempt": {
			setup:  linked,
			events: []string{failed("evt_1", 1), failed("evt_2", 2), failed("evt_3", 3)},
			then: []fact{{
				"select string_agg(idempotency_key, ',' order by idempotency_key) from paidonce.outbox where action = 'email.payment_failed'",
				"dunning:in_1:1,dunning:in_1:2,dunning:in_1:3",
			}},
		},
		"given one payment told by three events when they arrive then one receipt": {
			setup: linked,
			events: []string{
				event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))),
				event("evt_2", "invoice.payment_succeeded", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))),
				event("evt_3", "charge.succeeded", 0, charge(0)),
			},
			then: []fact{{actions, "email.receipt"}},
		},
		"given the same where the charge names its invoice when they arrive then one receipt": {
			setup: linked,
			events: []string{
				event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))),
				event("evt_2", "invoice.payment_succeeded", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))),
				event("evt_3", "charge.succeeded", 0, charge(0).with(obj{"invoice": "in_1"})),
			},
			then: []fact{{actions, "email.receipt"}},
		},
	})
}

func TestStripeCalls(t *testing.T) {
	t.Parallel()
	t.Run("given an effect that calls Stripe when its event is delivered often and replayed by force then one row under one key", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		db.Exec(t, `
			create schema app;
			create function app.bill(event jsonb) returns void language plpgsql set search_path = '' as $$
			begin
				perform paidonce.enqueue(event, 'stripe.invoices.create', jsonb_build_object('customer', event #>> '{data,object,customer}'));
			end $$;
			select paidonce.on('checkout.session.completed', 'app.bill(jsonb)')`)
		e := event("evt_1", "checkout.session.completed", 0, checkout("cs_1", "subscription"))
		require.NoError(t, together(8, func(int) error { return untilDone(t.Context(), db.Pool, e) }))
		db.Exec(t, "select paidonce.replay('evt_1', true)")
		require.Equal(t, "evt_1:stripe.invoices.create", pgtest.One[string](t, db,
			"select string_agg(idempotency_key, ',') from paidonce.outbox where action = 'stripe.invoices.create'"))
	})
}
