package order_test

import "slices"

// long are stories of more events than can be permuted: shuffled at random.
var long = []story{
	{
		name: "a year with everything",
		events: []string{
			at(0, "evt_01", "customer.created", obj{"id": "cus_1", "object": "customer", "email": "a@example.com", "metadata": obj{}}),
			at(0, "evt_02", "customer.subscription.created", subscription("sub_1", "incomplete", "basic")),
			at(1, "evt_03", "checkout.session.completed", checkout("cs_1", "subscription").with(obj{"invoice": "in_1"})),
			change(1, "evt_04", "customer.subscription.updated", subscription("sub_1", "active", "basic"), obj{"status": "incomplete"}),
			at(1, "evt_05", "invoice.paid", invoice("in_1", "paid", "basic", 1000)),
			at(1, "evt_06", "invoice_payment.paid", invoicePayment("in_1", "pi_1")),
			at(1, "evt_07", "charge.succeeded", charge("ch_1", "pi_1", 0)),
			at(50*day, "evt_08", "customer.subscription.updated", subscription("sub_1", "active", "pro")),
			at(60*day, "evt_09", "invoice.paid", invoice("in_2", "paid", "pro", 2000)),
			at(61*day, "evt_10", "refund.created", refund("re_1", "succeeded", 400)),
			at(61*day, "evt_11", "charge.refunded", charge("ch_1", "pi_1", 400)),
			at(62*day, "evt_12", "charge.dispute.created", dispute("needs_response", 600)),
			at(70*day, "evt_13", "charge.dispute.closed", dispute("won", 600)),
			at(80*day, "evt_14", "customer.subscription.updated", subscription("sub_1", "past_due", "pro")),
			at(90*day, "evt_15", "customer.subscription.deleted", subscription("sub_1", "canceled", "pro").with(obj{"ended_at": begin + 90*day})),
			at(91*day, "evt_16", "customer.subscription.created", subscription("sub_2", "active", "basic")),
			at(92*day, "evt_17", "customer.updated", obj{"id": "cus_1", "object": "customer", "email": "b@example.com", "metadata": obj{}}),
		},
		setup: mapping,
		ends:  hasBasic + " and not " + hasPro + " and " + balanceIs + "1060",
	},
	{
		name: "one purchase told by four objects",
		events: []string{
			at(0, "evt_01", "checkout.session.completed", checkout("cs_1", "payment").with(obj{"invoice": "in_1", "payment_intent": "pi_1", "metadata": obj{"credits": "200"}})),
			at(0, "evt_02", "payment_intent.created", intent("pi_1", "requires_payment_method", obj{"credits": "200"})),
			at(0, "evt_03", "payment_intent.succeeded", intent("pi_1", "succeeded", obj{"credits": "200"})),
			at(0, "evt_04", "charge.succeeded", charge("ch_1", "pi_1", 0)),
			at(0, "evt_05", "invoice.created", oldInvoice("in_1", "draft", "pi_1", 1000, 100)),
			at(0, "evt_06", "invoice.finalized", oldInvoice("in_1", "open", "pi_1", 1000, 100)),
			at(0, "evt_07", "invoice.paid", oldInvoice("in_1", "paid", "pi_1", 1000, 100)),
			at(0, "evt_08", "invoice.payment_succeeded", oldInvoice("in_1", "paid", "pi_1", 1000, 100)),
			at(9, "evt_09", "charge.refunded", charge("ch_1", "pi_1", 250)),
			at(9, "evt_10", "charge.refunded", charge("ch_1", "pi_1", 500)),
		},
		ends: balanceIs + "100",
	},
	{
		name:   "two stories of one customer at once",
		events: slices.Concat(stories[1].events[:1:1], renamed(stories[9].events), renamed(stories[0].events[2:5]), renamed(stories[4].events[3:])),
		setup:  mapping,
		ends:   "(select count(*) from paidonce.events where status <> 'processed') = 0",
	},
}

// renamed gives events ids of their own, so that two stories can be told at once.
func renamed(events []string) []string {
	renamed := make([]string, len(events))
	for i, event := range events {
		renamed[i] = replaceID(event)
	}
	return renamed
}
