package facts_test

import "testing"

// Subscriptions: what is kept of them, and the access that follows.

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	const period = "select (current_period_start = to_timestamp(%d) and current_period_end = to_timestamp(%d))::text from paidonce.subscriptions"
	canceled := subscription("sub_1", "canceled", "pro").with(obj{"ended_at": now + 20, "canceled_at": now + 20})
	const items = "select string_agg(item_id || ' ' || price_id, ',' order by item_id) from paidonce.subscription_items"
	invoices := "select string_agg(invoice_id || ' ' || coalesce(subscription_id, 'none'), ',' order by invoice_id) from paidonce.invoices"
	withItem := func(id, price string) obj {
		return subscription("sub_1", "active").with(obj{"items": list(item(id, price))})
	}

	tellAll(t, "", map[string]story{
		"given active after incomplete when both have arrived then it is active": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.updated", 1, subscription("sub_1", "active", "pro")),
				event("evt_2", "customer.subscription.created", 0, subscription("sub_1", "incomplete", "pro")),
			},
			then: []fact{{statusIs, "sub_1 active"}, {features, "pro"}},
		},
		"given both in one second when both have arrived then it is active": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.updated", 0, subscription("sub_1", "active", "pro")),
				event("evt_2", "customer.subscription.created", 0, subscription("sub_1", "incomplete", "pro")),
			},
			then: []fact{{statusIs, "sub_1 active"}, {features, "pro"}},
		},
		"given a late update of a deleted subscription when it has arrived then it stays canceled": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.deleted", 20, canceled),
				event("evt_2", "customer.subscription.updated", 10, subscription("sub_1", "active", "pro")),
				event("evt_3", "customer.subscription.updated", 30, subscription("sub_1", "active", "pro")),
			},
			then: []fact{{statusIs, "sub_1 canceled"}, {features, "none"}},
		},
		"given a price and a customer never seen when the subscription is created then it is kept": {
			events: []string{event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "active", "pro"))},
			then: []fact{
				{outcomes, processed}, {statusIs, "sub_1 active"}, {items, "si_sub_1_0 price_pro"},
				{"select coalesce(string_agg(feature, ','), 'none') from paidonce.entitlements", "none"},
			},
		},
		"given a subscription whose price nobody has described when its user asks then it is no free plan and says why": {
			setup: linked,
			events: []string{event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "active").with(obj{
				"items": list(obj{"id": "si_1", "object": "subscription_item", "quantity": 1, "price": "price_unknown"}),
			}))},
			then: []fact{
				{features, "none"},
				{"select reason from paidonce.why_access('u1', 'pro')", "none of its prices names any feature: set a lookup_key, product metadata or paidonce.price_grants"},
			},
		},
		"given three changes of plan, one with a new item, when all have arrived then the last one holds and no item is left over": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.created", 0, withItem("si_1", "basic")),
				event("evt_2", "customer.subscription.updated", 1, withItem("si_1", "pro")),
				event("evt_3", "customer.subscription.updated", 2, withItem("si_2", "basic")),
			},
			then: []fact{{items, "si_2 price_basic"}, {features, "basic"}, {"select count(*)::text from paidonce.subscriptions", "1"}},
		},
		"given past due during an upgrade when all have arrived then it is active and pro": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.updated", 1, subscription("sub_1", "past_due", "pro")),
				event("evt_2", "invoice.paid", 2, invoice("in_1", "paid", 1000)),
				event("evt_3", "customer.subscription.updated", 3, subscription("sub_1", "active", "pro")),
			},
			then: []fact{{statusIs, "sub_1 active"}, {features, "pro"}},
		},
		"given past due alone when it has arrived then access stays, by the default rule": {
			setup:  linked,
			events: []string{event("evt_1", "customer.subscription.updated", 1, subscription("sub_1", "past_due", "pro"))},
			then:   []fact{{features, "pro"}},
		},
		"given a first payment that failed when it has expired then no access": {
			events: []string{
				event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "incomplete", "pro")),
				event("evt_2", "checkout.session.completed", 0, checkout("cs_1", "subscription").with(obj{"payment_status": "unpaid", "subscription": "sub_1"})),
				event("evt_3", "customer.subscription.updated", 9, subscription("sub_1", "incomplete_expired", "pro")),
			},
			then: []fact{{features, "none"}, {statusIs, "sub_1 incomplete_expired"}},
		},
		"given a second subscription after that when it is active then access": {
			events: []string{
				event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "incomplete", "pro")),
				event("evt_2", "checkout.session.completed", 0, checkout("cs_1", "subscription").with(obj{"payment_status": "unpaid", "subscription": "sub_1"})),
				event("evt_3", "customer.subscription.updated", 9, subscription("sub_1", "incomplete_expired", "pro")),
				event("evt_4", "customer.subscription.created", 10, subscription("sub_2", "active", "pro")),
			},
			then: []fact{{features, "pro"}},
		},
		"given collection paused with invoices voided when it has arrived then no access": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "active", "pro")),
				event("evt_2", "customer.subscription.updated", 1, subscription("sub_1", "active", "pro").with(obj{"pause_collection": obj{"behavior": "void"}})),
			},
			then: []fact{{features, "none"}, {statusIs, "sub_1 active"}, {"select pause_behavior from paidonce.subscriptions", "void"}},
		},
		"given that pause is over when it has arrived then access": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "active", "pro")),
				event("evt_2", "customer.subscription.updated", 1, subscription("sub_1", "active", "pro").with(obj{"pause_collection": obj{"behavior": "void"}})),
				event("evt_3", "customer.subscription.updated", 2, subscription("sub_1", "active", "pro")),
			},
			then: []fact{{features, "pro"}},
		},
		"given cancel_at without the flag when it has arrived then the end is known and access stays": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "active", "pro")),
				event("evt_2", "customer.subscription.updated", 1, subscription("sub_1", "active", "pro").with(obj{"cancel_at": now + 30*day})),
			},
			then: []fact{{features, "pro"}, {"select extract(epoch from until)::bigint::text from paidonce.entitlements", encode(now + 30*day)}},
		},
		"given the flag without cancel_at when it has arrived then the end is that of the period": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "active", "pro")),
				event("evt_2", "customer.subscription.updated", 1, subscription("sub_1", "active", "pro").with(obj{"cancel_at_period_end": true})),
			},
			then: []fact{{features, "pro"}, {"select extract(epoch from until)::bigint::text from paidonce.entitlements", encode(now + 30*day)}},
		},
		"given a cancellation taken back when it has arrived then no end is known": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.updated", 1, subscription("sub_1", "active", "pro").with(obj{"cancel_at": now + 30*day})),
				event("evt_2", "customer.subscription.updated", 2, subscription("sub_1", "active", "pro")),
			},
			then: []fact{{features, "pro"}, {"select coalesce(until::text, 'open') from paidonce.entitlements", "open"}},
		},
		"given a subscription ended now with a period still to run when it has arrived then no access": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "active", "pro")),
				event("evt_2", "customer.subscription.deleted", 20, canceled),
			},
			then: []fact{{features, "none"}, {"select (ended_at is not null)::text from paidonce.subscriptions", "true"}},
		},
		"given a deleted subscription when it is looked for then it is still there": {
			events: []string{event("evt_1", "customer.subscription.deleted", 20, canceled)},
			then:   []fact{{statusIs, "sub_1 canceled"}, {items, "si_sub_1_0 price_pro"}},
		},
		"given the period at the top when it has arrived then it is read": {
			events: []string{event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "active").with(obj{
				"current_period_start": now, "current_period_end": now + 30*day, "items": list(obj{"id": "si_1", "price": "price_pro"}),
			}))},
			then: []fact{{sprintf(period, now, now+30*day), "true"}},
		},
		"given the period of the items when it has arrived then it is the same": {
			events: []string{event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "active", "pro"))},
			then:   []fact{{sprintf(period, now, now+30*day), "true"}},
		},
		"given invoices of three shapes when they are paid then two name the subscription and the third is let be": {
			setup: linked,
			events: []string{
				event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000).with(obj{"parent": nil, "subscription": "sub_1"})),
				event("evt_2", "invoice.paid", 0, invoice("in_2", "paid", 1000)),
				event("evt_3", "invoice.paid", 0, invoice("in_3", "paid", 1000).with(obj{"parent": nil})),
			},
			then: []fact{{outcomes, processed}, {invoices, "in_1 sub_1,in_2 sub_1,in_3 none"}, {"select count(*)::text from paidonce.subscriptions", "0"}},
		},
		"given a returning customer when the second subscription is active then access through it": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "active", "pro")),
				event("evt_2", "customer.subscription.deleted", 20, canceled),
				event("evt_3", "customer.subscription.created", 30, subscription("sub_2", "active", "pro")),
			},
			then: []fact{{features, "pro"}, {"select string_agg(subscription_id, ',') from paidonce.entitlements", "sub_2"}},
		},
		"given a deleted customer when its late invoice is paid then nothing revives": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.created", 0, customer("cus_1", obj{})),
				event("evt_2", "customer.subscription.created", 0, subscription("sub_1", "active", "pro")),
				event("evt_3", "customer.deleted", 9, customer("cus_1", obj{})),
				event("evt_4", "invoice.paid", 10, invoice("in_1", "paid", 1000)),
			},
			then: []fact{{features, "none"}, {outcomes, processed}, {"select deleted::text from paidonce.customers", "true"}},
		},
	})
}
