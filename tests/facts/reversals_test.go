package facts_test

import "testing"

// Refunds and disputes: absolute targets, never deltas.

func TestReversals(t *testing.T) {
	t.Parallel()
	const thousand = "insert into paidonce.price_grants (price_id, credits) values ('price_pro', 1000);" + linked
	invoicePaid := event("evt_i", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1)))
	// The shape before 2025-03-31 names its intent itself.
	namesIntent := event("evt_i", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1)).with(obj{"payment_intent": "pi_1"}))
	link := event("evt_l", "invoice_payment.paid", 0, invoicePayment("in_1", "pi_1"))

	tellAll(t, "", map[string]story{
		"given a purchase refunded in full, told twice, when all have arrived then it is taken back once": {
			setup: thousand,
			events: []string{
				invoicePaid, link,
				event("evt_1", "charge.refunded", 9, charge(1000)),
				event("evt_2", "refund.created", 9, refund("re_1", "succeeded", 1000)),
			},
			then: []fact{{balance, "0"}, {"select coalesce(sum(amount), 0)::text from paidonce.credit_entries where kind <> 'grant'", "-1000"}},
		},
		"given a refund and afterwards its status when both have arrived then it is taken back once": {
			setup: thousand,
			events: []string{
				invoicePaid, link,
				event("evt_1", "charge.refunded", 9, charge(400)),
				event("evt_2", "charge.refund.updated", 12, refund("re_1", "succeeded", 400)),
			},
			then: []fact{{balance, "600"}},
		},
		"given refunds in parts when all have arrived then the shares add up": {
			setup: thousand,
			events: []string{
				namesIntent,
				event("evt_1", "refund.created", 9, refund("re_1", "succeeded", 200)),
				event("evt_2", "refund.created", 10, refund("re_2", "succeeded", 300)),
				event("evt_3", "charge.refunded", 10, charge(500)),
			},
			then: []fact{{balance, "500"}},
		},
		"given a refund that fails when all have arrived then the credits are back": {
			setup: thousand,
			events: []string{
				namesIntent,
				event("evt_1", "refund.created", 9, refund("re_1", "pending", 500)),
				event("evt_2", "charge.refunded", 9, charge(500)),
				event("evt_3", "refund.failed", 12, refund("re_1", "failed", 500)),
			},
			then: []fact{{balance, "1000"}},
		},
		"given a dispute that is lost when all have arrived then its share is gone": {
			setup: thousand,
			events: []string{
				invoicePaid, link,
				event("evt_1", "charge.dispute.created", 9, dispute("needs_response", 300)),
				event("evt_2", "charge.dispute.closed", 99, dispute("lost", 300)),
			},
			then: []fact{{balance, "700"}},
		},
		"given a dispute that is won when all have arrived then the credits are back": {
			setup: thousand,
			events: []string{
				invoicePaid, link,
				event("evt_1", "charge.dispute.created", 9, dispute("needs_response", 1000)),
				event("evt_2", "charge.dispute.closed", 99, dispute("won", 1000)),
			},
			then: []fact{{balance, "1000"}},
		},
		"given an inquiry when it has arrived then nothing is taken": {
			setup:  thousand,
			events: []string{invoicePaid, link, event("evt_1", "charge.dispute.created", 9, dispute("warning_needs_response", 1000))},
			then:   []fact{{balance, "1000"}},
		},
		"given a refund and a dispute of the whole when both have arrived then never more than the grant is taken": {
			setup: thousand,
			events: []string{
				invoicePaid, link,
				event("evt_1", "charge.refunded", 9, charge(700)),
				event("evt_2", "charge.dispute.created", 10, dispute("needs_response", 1000)),
			},
			then: []fact{{balance, "0"}},
		},
		"given a refund whose invoice no event names when it has arrived then it waits and the audit says so": {
			setup:  thousand,
			events: []string{invoicePaid, event("evt_1", "charge.refunded", 9, charge(500))},
			then: []fact{
				{balance, "1000"},
				{"select count(*)::text from paidonce.outbox where action = 'stripe.refetch' and payload ->> 'object' like 'invoice\\_payment%'", "1"},
			},
			audit: "reversal_without_purchase",
		},
		"given an intent with credits of its own that is refunded when all have arrived then half is taken back": {
			setup: linked,
			events: []string{
				event("evt_1", "payment_intent.succeeded", 0, intent("pi_1", "succeeded", obj{"credits": "80"}).with(obj{"invoice": nil})),
				event("evt_2", "charge.refunded", 9, charge(500)),
			},
			then: []fact{{balance, "40"}},
		},
		"given spent credits that are refunded when it has arrived then the balance falls below zero by no more than was spent": {
			setup: thousand,
			events: []string{
				invoicePaid, link,
				event("evt_1", "charge.refunded", 9, charge(1000)),
			},
			then: []fact{{balance, "0"}},
		},
	})
}
