package order_test

import (
	"encoding/json"
	"fmt"
)

// obj is a JSON object.
type obj = map[string]any

// begin is the second at which every story begins: 2025-06-01 00:00:00 UTC.
const begin = 1748736000

const day = 86400

// story is a set of events, written in the order in which Stripe made them.
type story struct {
	name   string
	setup  string   // SQL, run before
	events []string // JSON
	ends   string   // SQL: one boolean that is true of the right end
	// apart names the broken rules that this story must notice, see mutants.
	apart []string
}

// at builds an event of one type, made so many seconds after begin.
func at(second int, id, eventType string, object obj) string {
	return event(second, id, eventType, object, nil)
}

// change builds an event that says what its object was before.
func change(second int, id, eventType string, object, previous obj) string {
	return event(second, id, eventType, object, previous)
}

func event(second int, id, eventType string, object, previous obj) string {
	data := obj{"object": object}
	if previous != nil {
		data["previous_attributes"] = previous
	}
	body, err := json.Marshal(obj{
		"id": id, "object": "event", "api_version": "2025-11-17.clover", "created": begin + second,
		"livemode": false, "type": eventType, "data": data,
	})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// with returns a copy of an object with some fields changed.
func (o extend) with(changes obj) obj {
	changed := obj{}
	for key, value := range o {
		changed[key] = value
	}
	for key, value := range changes {
		changed[key] = value
	}
	return changed
}

type extend obj

// subscription in the shape since API 2025-03-31: the period is the items'.
func subscription(id, status string, prices ...string) extend {
	items := []any{}
	for i, price := range prices {
		items = append(items, obj{
			"id": fmt.Sprintf("si_%s_%d", id, i), "object": "subscription_item", "quantity": 1,
			"price":                obj{"id": "price_" + price, "object": "price", "product": "prod_" + price, "lookup_key": price},
			"current_period_start": begin, "current_period_end": begin + 30*day,
		})
	}
	return extend{
		"id": id, "object": "subscription", "customer": "cus_1", "status": status, "created": begin,
		"cancel_at_period_end": false, "cancel_at": nil, "canceled_at": nil, "ended_at": nil, "pause_collection": nil,
		"items": obj{"object": "list", "has_more": false, "data": items}, "metadata": obj{},
	}
}

// checkout of user u1 that ended paid.
func checkout(id, mode string) extend {
	return extend{
		"id": id, "object": "checkout.session", "customer": "cus_1", "client_reference_id": "u1", "mode": mode,
		"status": "complete", "payment_status": "paid", "amount_total": 1000, "currency": "usd", "metadata": obj{},
	}
}

// invoice of one line, in the shape since API 2025-03-31: it names no payment.
func invoice(id, status, price string, amount int) extend {
	return extend{
		"id": id, "object": "invoice", "customer": "cus_1", "status": status, "currency": "usd", "billing_reason": "subscription_cycle",
		"subtotal": amount, "total": amount, "amount_due": amount, "amount_paid": map[bool]int{true: amount}[status == "paid"],
		"parent": obj{"type": "subscription_details", "subscription_details": obj{"subscription": "sub_1"}},
		"lines": obj{"object": "list", "has_more": false, "data": []any{obj{
			"id": "il_" + id, "object": "line_item", "amount": amount, "quantity": 1,
			"pricing": obj{"type": "price_details", "price_details": obj{"price": "price_" + price, "product": "prod_" + price}},
		}}},
	}
}

// oldInvoice is in the shape before that: it names its intent, and its lines carry the whole price.
func oldInvoice(id, status, intent string, amount, credits int) extend {
	old := invoice(id, status, "x", amount)
	old["parent"] = nil
	old["subscription"] = "sub_1"
	old["payment_intent"] = intent
	old["lines"] = obj{"object": "list", "has_more": false, "data": []any{obj{
		"id": "il_" + id, "object": "line_item", "amount": amount, "quantity": 2, "proration": false,
		"price": obj{"id": "price_x", "object": "price", "product": "prod_x", "metadata": obj{"credits": fmt.Sprint(credits)}},
	}}}
	return old
}

func invoicePayment(invoice, intent string) obj {
	return obj{
		"id": "inpay_" + invoice, "object": "invoice_payment", "invoice": invoice, "status": "paid",
		"payment": obj{"type": "payment_intent", "payment_intent": intent},
	}
}

func charge(id, intent string, refunded int) obj {
	return obj{
		"id": id, "object": "charge", "customer": "cus_1", "payment_intent": intent, "status": "succeeded", "captured": true,
		"amount": 1000, "amount_captured": 1000, "amount_refunded": refunded, "currency": "usd", "metadata": obj{},
	}
}

func intent(id, status string, metadata obj) obj {
	return obj{
		"id": id, "object": "payment_intent", "customer": "cus_1", "status": status, "amount": 1000,
		"amount_received": map[bool]int{true: 1000}[status == "succeeded"], "currency": "usd", "latest_charge": "ch_1", "metadata": metadata,
	}
}

func refund(id, status string, amount int) obj {
	return obj{
		"id": id, "object": "refund", "charge": "ch_1", "payment_intent": "pi_1", "amount": amount,
		"currency": "usd", "status": status, "created": begin,
	}
}

func dispute(status string, amount int) obj {
	return obj{
		"id": "dp_1", "object": "dispute", "charge": "ch_1", "payment_intent": "pi_1", "amount": amount,
		"currency": "usd", "status": status, "reason": "fraudulent",
	}
}
