package order_test

const (
	hasPro    = "exists (select from paidonce.entitlements where user_id = 'u1' and feature = 'pro')"
	hasBasic  = "exists (select from paidonce.entitlements where user_id = 'u1' and feature = 'basic')"
	hasNone   = "not exists (select from paidonce.entitlements)"
	balanceIs = "(select sum(balance) from paidonce.credit_balances where user_id = 'u1') = "
	mapping   = "insert into paidonce.price_grants (price_id, credits) values ('price_pro', 1000), ('price_basic', 100)"
)

// farAway keeps a scheduled end in the future, whenever the tests run.
const farAway = 4102444800

var stories = []story{
	{
		name: "trial to paid",
		events: []string{
			at(0, "evt_1", "customer.subscription.created", subscription("sub_1", "trialing", "pro")),
			at(1, "evt_2", "checkout.session.completed", checkout("cs_1", "subscription")),
			at(2, "evt_3", "invoice.paid", invoice("in_0", "paid", "pro", 0)),
			at(10*day, "evt_4", "customer.subscription.trial_will_end", subscription("sub_1", "trialing", "pro")),
			at(14*day, "evt_5", "customer.subscription.updated", subscription("sub_1", "active", "pro")),
			at(14*day, "evt_6", "invoice.paid", invoice("in_1", "paid", "pro", 1000)),
		},
		setup: mapping,
		ends:  hasPro + " and " + balanceIs + "1000",
		apart: []string{"time"},
	},
	{
		name: "upgrade then downgrade",
		events: []string{
			at(0, "evt_1", "customer.subscription.created", subscription("sub_1", "active", "basic")),
			at(1, "evt_2", "checkout.session.completed", checkout("cs_1", "subscription")),
			at(100, "evt_3", "customer.subscription.updated", subscription("sub_1", "active", "pro")),
			at(200, "evt_4", "customer.subscription.updated", subscription("sub_1", "active", "basic", "addon")),
			at(300, "evt_5", "customer.subscription.updated", subscription("sub_1", "active", "basic")),
		},
		ends:  hasBasic + " and not " + hasPro + " and (select count(*) from paidonce.subscription_items) = 1",
		apart: []string{"time"},
	},
	{
		name: "cancel at period end then un-cancel",
		events: []string{
			at(0, "evt_1", "customer.subscription.created", subscription("sub_1", "active", "pro")),
			at(1, "evt_2", "checkout.session.completed", checkout("cs_1", "subscription")),
			at(100, "evt_3", "customer.subscription.updated", subscription("sub_1", "active", "pro").with(obj{"cancel_at": farAway, "canceled_at": begin + 100})),
			at(200, "evt_4", "customer.subscription.updated", subscription("sub_1", "active", "pro")),
		},
		ends:  hasPro + " and (select cancel_at is null from paidonce.subscriptions)",
		apart: []string{"time"},
	},
	{
		name: "cancel now",
		events: []string{
			at(0, "evt_1", "customer.subscription.created", subscription("sub_1", "active", "pro")),
			at(1, "evt_2", "checkout.session.completed", checkout("cs_1", "subscription")),
			// Stripe's clock gave the update a later second than the end: the end still stands.
			at(101, "evt_3", "customer.subscription.updated", subscription("sub_1", "active", "pro")),
			at(100, "evt_4", "customer.subscription.deleted", subscription("sub_1", "canceled", "pro").with(obj{"ended_at": begin + 100, "canceled_at": begin + 100})),
			at(102, "evt_5", "invoice.payment_failed", invoice("in_1", "open", "pro", 1000)),
		},
		ends:  hasNone + " and (select status = 'canceled' and ended_at is not null from paidonce.subscriptions)",
		apart: []string{"final"},
	},
	{
		name: "past due then recovered",
		events: []string{
			at(0, "evt_1", "checkout.session.completed", checkout("cs_1", "subscription")),
			at(0, "evt_2", "customer.subscription.created", subscription("sub_1", "active", "pro")),
			at(30*day, "evt_3", "invoice.payment_failed", invoice("in_2", "open", "pro", 1000)),
			at(30*day+1, "evt_4", "customer.subscription.updated", subscription("sub_1", "past_due", "pro")),
			at(32*day, "evt_5", "invoice.paid", invoice("in_2", "paid", "pro", 1000)),
			at(32*day, "evt_6", "customer.subscription.updated", subscription("sub_1", "active", "pro")),
		},
		setup: mapping,
		ends:  hasPro + " and (select status from paidonce.subscriptions) = 'active' and " + balanceIs + "1000",
		apart: []string{"time"},
	},
	{
		name: "pause and resume",
		events: []string{
			at(0, "evt_1", "customer.subscription.created", subscription("sub_1", "active", "pro")),
			at(0, "evt_2", "checkout.session.completed", checkout("cs_1", "subscription")),
			at(100, "evt_3", "customer.subscription.updated", subscription("sub_1", "active", "pro").with(obj{"pause_collection": obj{"behavior": "void"}})),
			at(200, "evt_4", "customer.subscription.updated", subscription("sub_1", "active", "pro")),
			at(300, "evt_5", "customer.subscription.updated", subscription("sub_1", "active", "pro").with(obj{"pause_collection": obj{"behavior": "void"}})),
		},
		ends:  hasNone + " and (select pause_behavior from paidonce.subscriptions) = 'void'",
		apart: []string{"time"},
	},
	{
		name: "checkout unpaid then settled",
		events: []string{
			at(0, "evt_1", "checkout.session.completed", checkout("cs_1", "payment").with(obj{"payment_status": "unpaid", "payment_intent": "pi_1", "metadata": obj{"credits": "50"}})),
			at(0, "evt_2", "payment_intent.processing", intent("pi_1", "processing", obj{"credits": "50"})),
			at(2*day, "evt_3", "payment_intent.succeeded", intent("pi_1", "succeeded", obj{"credits": "50"})),
			at(2*day, "evt_4", "charge.succeeded", charge("ch_1", "pi_1", 0)),
			at(2*day, "evt_5", "checkout.session.async_payment_succeeded", checkout("cs_1", "payment").with(obj{"payment_intent": "pi_1", "metadata": obj{"credits": "50"}})),
		},
		ends:  balanceIs + "50",
		apart: []string{"time"},
	},
	{
		name: "two subscriptions at once",
		events: []string{
			at(0, "evt_1", "checkout.session.completed", checkout("cs_1", "subscription")),
			at(0, "evt_2", "customer.subscription.created", subscription("sub_1", "active", "pro")),
			at(5, "evt_3", "customer.subscription.created", subscription("sub_2", "active", "basic")),
			at(9, "evt_4", "customer.subscription.updated", subscription("sub_2", "past_due", "basic")),
			at(10, "evt_5", "customer.subscription.deleted", subscription("sub_1", "canceled", "pro").with(obj{"ended_at": begin + 10})),
		},
		ends:  hasBasic + " and not " + hasPro,
		apart: []string{"time"},
	},
	{
		name: "replaced subscription",
		events: []string{
			at(0, "evt_1", "customer.subscription.created", subscription("sub_1", "incomplete", "pro")),
			at(1, "evt_2", "checkout.session.completed", checkout("cs_1", "subscription").with(obj{"payment_status": "unpaid"})),
			at(day, "evt_3", "customer.subscription.updated", subscription("sub_1", "incomplete_expired", "pro")),
			at(day, "evt_4", "customer.subscription.created", subscription("sub_2", "incomplete", "pro")),
			at(day, "evt_5", "customer.subscription.updated", subscription("sub_2", "active", "pro")),
		},
		ends: hasPro + " and (select count(*) from paidonce.entitlements) = 1",
	},
	{
		name: "refund in parts",
		events: []string{
			at(0, "evt_1", "checkout.session.completed", checkout("cs_1", "subscription")),
			at(0, "evt_2", "invoice.paid", oldInvoice("in_1", "paid", "pi_1", 1000, 500)),
			at(0, "evt_3", "charge.succeeded", charge("ch_1", "pi_1", 0)),
			at(100, "evt_4", "charge.refunded", charge("ch_1", "pi_1", 300)),
			at(100, "evt_5", "refund.created", refund("re_1", "succeeded", 300)),
			at(200, "evt_6", "charge.refunded", charge("ch_1", "pi_1", 500)),
		},
		ends:  balanceIs + "500",
		apart: []string{"time"},
	},
	{
		name: "dispute won",
		events: []string{
			at(0, "evt_1", "checkout.session.completed", checkout("cs_1", "subscription")),
			at(0, "evt_2", "invoice.paid", invoice("in_1", "paid", "pro", 1000)),
			at(0, "evt_3", "invoice_payment.paid", invoicePayment("in_1", "pi_1")),
			at(day, "evt_4", "charge.dispute.created", dispute("needs_response", 1000)),
			at(9*day, "evt_5", "charge.dispute.closed", dispute("won", 1000)),
			at(9*day, "evt_6", "charge.dispute.funds_reinstated", dispute("won", 1000)),
		},
		setup: mapping,
		ends:  balanceIs + "1000",
		apart: []string{"time"},
	},
	{
		name: "dispute lost",
		events: []string{
			at(0, "evt_1", "checkout.session.completed", checkout("cs_1", "subscription")),
			at(0, "evt_2", "invoice.paid", invoice("in_1", "paid", "pro", 1000)),
			at(0, "evt_3", "payment_intent.succeeded", intent("pi_1", "succeeded", obj{})),
			at(0, "evt_4", "invoice_payment.paid", invoicePayment("in_1", "pi_1")),
			at(day, "evt_5", "charge.dispute.created", dispute("warning_needs_response", 600)),
			at(9*day, "evt_6", "charge.dispute.closed", dispute("lost", 600)),
		},
		setup: mapping,
		ends:  balanceIs + "400",
		apart: []string{"time"},
	},
	{
		name: "customer deleted",
		events: []string{
			at(0, "evt_1", "customer.created", obj{"id": "cus_1", "object": "customer", "email": "a@example.com", "metadata": obj{"user_id": "u1"}}),
			at(0, "evt_2", "customer.subscription.created", subscription("sub_1", "active", "pro")),
			at(5, "evt_3", "customer.updated", obj{"id": "cus_1", "object": "customer", "email": "b@example.com", "metadata": obj{"user_id": "u1"}}),
			at(9, "evt_4", "customer.deleted", obj{"id": "cus_1", "object": "customer", "email": "b@example.com", "metadata": obj{"user_id": "u1"}}),
			at(9, "evt_5", "customer.subscription.deleted", subscription("sub_1", "canceled", "pro").with(obj{"ended_at": begin + 9})),
			at(12, "evt_6", "invoice.paid", invoice("in_1", "paid", "pro", 1000)),
		},
		ends:  hasNone + " and (select deleted and email = 'b@example.com' from paidonce.customers)",
		apart: []string{"time"},
	},
	{
		name: "five changes in one second",
		events: []string{
			at(0, "evt_9", "customer.subscription.created", subscription("sub_1", "incomplete", "basic")),
			at(0, "evt_1", "checkout.session.completed", checkout("cs_1", "subscription")),
			change(0, "evt_5", "customer.subscription.updated", subscription("sub_1", "active", "basic"), obj{"status": "incomplete"}),
			change(0, "evt_4", "customer.subscription.updated", subscription("sub_1", "past_due", "basic"), obj{"status": "active"}),
			change(0, "evt_3", "customer.subscription.updated", subscription("sub_1", "unpaid", "basic"), obj{"status": "past_due"}),
			at(0, "evt_8", "customer.subscription.trial_will_end", subscription("sub_1", "trialing", "basic")),
		},
		ends:  "(select status from paidonce.subscriptions) = 'unpaid'",
		apart: []string{"rank", "previous"},
	},
	{
		name: "price known late",
		events: []string{
			at(0, "evt_1", "checkout.session.completed", checkout("cs_1", "subscription")),
			at(0, "evt_2", "invoice.paid", invoice("in_1", "paid", "late", 1000)),
			at(1, "evt_3", "price.created", obj{"id": "price_late", "object": "price", "product": "prod_late", "active": true, "metadata": obj{"credits": "70"}}),
			at(2, "evt_4", "invoice_payment.paid", invoicePayment("in_1", "pi_1")),
			at(3, "evt_5", "refund.created", refund("re_1", "pending", 500)),
			at(4, "evt_6", "refund.failed", refund("re_1", "failed", 500)),
		},
		ends:  balanceIs + "70",
		apart: []string{"time"},
	},
	{
		name: "guest checkout",
		events: []string{
			at(0, "evt_1", "checkout.session.completed", checkout("cs_1", "payment").with(obj{"customer": nil, "payment_intent": "pi_1", "metadata": obj{"credits": "80"}})),
			at(0, "evt_2", "payment_intent.succeeded", extend(intent("pi_1", "succeeded", obj{"credits": "80"})).with(obj{"customer": nil})),
			at(0, "evt_3", "charge.succeeded", extend(charge("ch_1", "pi_1", 0)).with(obj{"customer": nil})),
			at(9, "evt_4", "charge.refunded", extend(charge("ch_1", "pi_1", 250)).with(obj{"customer": nil})),
			at(9, "evt_5", "charge.refund.updated", refund("re_1", "succeeded", 250)),
		},
		ends:  balanceIs + "60",
		apart: []string{"time"},
	},
}
