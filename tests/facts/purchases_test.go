package facts_test

import "testing"

// Purchases: what is granted, once, whatever tells of it and in whatever order.

func TestPurchases(t *testing.T) {
	t.Parallel()
	hundredCredits := obj{"credits": "100"}
	session := checkout("cs_1", "payment").with(obj{"invoice": "in_1", "payment_intent": "pi_1", "metadata": hundredCredits})
	once := []fact{{balance, "100"}, {grants, "1"}, {outcomes, processed}}

	tellAll(t, "", map[string]story{
		"given one purchase told by session, invoice and intent, all naming credits, when they arrive then one grant": {
			setup: hundred,
			events: []string{
				event("evt_1", "checkout.session.completed", 0, session),
				event("evt_2", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))),
				event("evt_3", "payment_intent.succeeded", 0, intent("pi_1", "succeeded", hundredCredits)),
			},
			then: once,
		},
		"given the same of a customer already linked when they arrive then one grant": {
			setup: hundred + ";" + linked,
			events: []string{
				event("evt_1", "checkout.session.completed", 0, session),
				event("evt_2", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))),
				event("evt_3", "payment_intent.succeeded", 0, intent("pi_1", "succeeded", hundredCredits)),
			},
			// An intent with credits of its own may be granted before anything says what it belongs to. What is too
			// much then is taken back as soon as the session does.
			then: []fact{{balance, "100"}, {outcomes, processed}},
		},
		"given the same in the shape before 2025-03-31 when they arrive then one grant": {
			setup: linked,
			events: []string{
				event("evt_1", "checkout.session.completed", 0, session),
				event("evt_2", "invoice.paid", 0, invoice("in_1", "paid", 1000, obj{
					"id": "il_1", "amount": 1000, "quantity": 1, "proration": false,
					"price": obj{"id": "price_pro", "object": "price", "product": "prod_pro", "metadata": hundredCredits},
				}).with(obj{"payment_intent": "pi_1", "charge": "ch_1", "subscription": "sub_1", "parent": nil})),
				event("evt_3", "payment_intent.succeeded", 0, intent("pi_1", "succeeded", hundredCredits).with(obj{"invoice": "in_1"})),
				event("evt_4", "charge.succeeded", 0, charge(0).with(obj{"invoice": "in_1"})),
			},
			then: once,
		},
		"given a paid session without any invoice when it arrives then one grant, and its intent adds none": {
			events: []string{
				event("evt_1", "checkout.session.completed", 0, checkout("cs_1", "payment").with(obj{"payment_intent": "pi_1", "metadata": hundredCredits})),
				event("evt_2", "payment_intent.succeeded", 0, intent("pi_1", "succeeded", obj{})),
			},
			then: once,
		},
		"given a session that needed no payment when it arrives then one grant": {
			events: []string{event("evt_1", "checkout.session.completed", 0, checkout("cs_1", "payment").with(
				obj{"payment_status": "no_payment_required", "amount_total": 0, "metadata": hundredCredits}))},
			then: once,
		},
		"given an intent with credits that belongs to neither when it arrives then one grant": {
			setup:  linked,
			events: []string{event("evt_1", "payment_intent.succeeded", 0, intent("pi_1", "succeeded", hundredCredits))},
			then:   once,
		},
		"given an intent without credits of its own when it arrives then no grant": {
			setup:  linked,
			events: []string{event("evt_1", "payment_intent.succeeded", 0, intent("pi_1", "succeeded", obj{}))},
			then:   []fact{{balance, "0"}, {grants, "0"}},
		},
		"given an invoice before the checkout that names the user when both have arrived then one grant and nothing waits": {
			setup: hundred,
			events: []string{
				event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))),
				event("evt_2", "checkout.session.completed", 1, checkout("cs_1", "subscription").with(obj{"invoice": "in_1"})),
			},
			then: once,
		},
		"given the invoice's price is known last of all when all have arrived then one grant": {
			events: []string{
				event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))),
				event("evt_2", "checkout.session.completed", 1, checkout("cs_1", "subscription").with(obj{"invoice": "in_1"})),
				event("evt_3", "price.created", -100, price("pro", hundredCredits)),
			},
			then: once,
		},
		"given a trial's invoice of nothing when it arrives then access and no credits": {
			setup: hundred + ";" + linked,
			events: []string{
				event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "trialing", "pro")),
				event("evt_2", "invoice.paid", 0, invoice("in_1", "paid", 0, line("pro", 0, 1)).with(obj{"billing_reason": "subscription_create"})),
			},
			then: []fact{{balance, "0"}, {grants, "0"}, {features, "pro"}},
		},
		"given a trial beside a fee that is paid when it arrives then the trial grants nothing": {
			setup: hundred + ";" + linked + "; insert into paidonce.price_grants (price_id, credits) values ('price_fee', 0)",
			events: []string{
				event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 500, line("pro", 0, 1), line("fee", 500, 1))),
			},
			then: []fact{{balance, "0"}, {grants, "0"}},
		},
		"given an invoice that a discount made free when it arrives then it grants": {
			setup:  hundred + ";" + linked,
			events: []string{event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 0, line("pro", 1000, 1)).with(obj{"subtotal": 1000}))},
			then:   once,
		},
		"given three seats, a proration and a second price when they are paid then quantity counts and the proration does not": {
			setup: hundred + ", ('price_basic', 7);" + linked,
			events: []string{
				event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 3000, 3), line("basic", 10, 1),
					line("pro", -500, 1).with(obj{"id": "il_old", "proration": true}),
					line("pro", 900, 1).with(obj{"id": "il_new", "parent": obj{"subscription_item_details": obj{"proration": true}}}))),
			},
			then: []fact{{balance, "307"}},
		},
		"given a payment that settles later when all have arrived then one grant": {
			events: []string{
				event("evt_1", "checkout.session.completed", 0, checkout("cs_1", "payment").with(obj{"payment_status": "unpaid", "metadata": hundredCredits})),
				event("evt_2", "checkout.session.async_payment_succeeded", 9, checkout("cs_1", "payment").with(obj{"metadata": hundredCredits})),
				event("evt_3", "checkout.session.completed", 0, checkout("cs_1", "payment").with(obj{"payment_status": "unpaid", "metadata": hundredCredits})),
			},
			then: once,
		},
		"given a payment that settles later when only the first has arrived then no grant yet": {
			events: []string{
				event("evt_1", "checkout.session.completed", 0, checkout("cs_1", "payment").with(obj{"payment_status": "unpaid", "metadata": hundredCredits})),
			},
			then: []fact{{grants, "0"}},
		},
		"given a payment that fails later when all have arrived then no grant": {
			events: []string{
				event("evt_1", "checkout.session.completed", 0, checkout("cs_1", "payment").with(obj{"payment_status": "unpaid", "metadata": hundredCredits})),
				event("evt_2", "checkout.session.async_payment_failed", 9, checkout("cs_1", "payment").with(obj{"payment_status": "unpaid", "metadata": hundredCredits})),
			},
			then: []fact{{grants, "0"}, {balance, "0"}},
		},
		"given two event objects for one paid invoice when both arrive then one grant": {
			setup: hundred + ";" + linked,
			events: []string{
				event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))),
				event("evt_2", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))),
				event("evt_3", "invoice.payment_succeeded", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))),
			},
			then: once,
		},
		"given a guest's purchase with a user and without a customer when it arrives then the user has the credits": {
			events: []string{
				event("evt_1", "checkout.session.completed", 0, checkout("cs_1", "payment").with(obj{"customer": nil, "payment_intent": "pi_1", "metadata": hundredCredits})),
				event("evt_2", "payment_intent.succeeded", 0, intent("pi_1", "succeeded", hundredCredits).with(obj{"customer": nil})),
			},
			then: once,
		},
	})
}
