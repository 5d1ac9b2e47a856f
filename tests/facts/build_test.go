package facts_test

import (
	"encoding/json"
	"maps"
	"strconv"
	"time"
)

// obj is a JSON object of Stripe's.
type obj map[string]any

// with returns a copy with some fields set anew.
func (o obj) with(fields obj) obj {
	out := maps.Clone(o)
	maps.Copy(out, fields)
	return out
}

// now is the second in which the stories play. Whether a scheduled end has
// passed depends on the clock, so it is the real one.
var now = time.Now().Unix()

const day = 86400

// event is an event as Stripe makes it, so many seconds after now.
func event(id, kind string, second int64, object obj) string {
	return encode(obj{
		"id": id, "object": "event", "type": kind, "created": now + second, "livemode": false,
		"api_version": "2025-11-17.clover", "data": obj{"object": object},
	})
}

func encode(value any) string {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // the tests' own values
	}
	return string(body)
}

// subscription is one of the shape since API 2025-03-31: the period is the items'.
func subscription(id, status string, prices ...string) obj {
	items := []any{}
	for i, price := range prices {
		items = append(items, item("si_"+id+"_"+strconv.Itoa(i), price))
	}
	return obj{
		"id": id, "object": "subscription", "customer": "cus_1", "status": status, "created": now,
		"cancel_at_period_end": false, "cancel_at": nil, "canceled_at": nil, "ended_at": nil, "pause_collection": nil,
		"items": list(items...), "metadata": obj{},
	}
}

func item(id, price string) obj {
	return obj{
		"id": id, "object": "subscription_item", "quantity": 1, "current_period_start": now, "current_period_end": now + 30*day,
		"price": obj{"id": "price_" + price, "object": "price", "product": "prod_" + price, "lookup_key": price, "metadata": obj{}},
	}
}

func list(data ...any) obj { return obj{"object": "list", "has_more": false, "data": data} }

// checkout is a paid session of user u1 and customer cus_1.
func checkout(id, mode string) obj {
	return obj{
		"id": id, "object": "checkout.session", "customer": "cus_1", "client_reference_id": "u1", "mode": mode,
		"status": "complete", "payment_status": "paid", "amount_total": 1000, "currency": "usd", "invoice": nil, "metadata": obj{},
	}
}

// invoice is one of the shape since API 2025-03-31: it names no payment, and its lines carry only the price's id.
func invoice(id, status string, amount int, lines ...any) obj {
	return obj{
		"id": id, "object": "invoice", "customer": "cus_1", "status": status, "currency": "usd", "billing_reason": "subscription_cycle",
		"subtotal": amount, "total": amount, "amount_due": amount, "amount_paid": paid(status == "paid", amount), "attempt_count": 1,
		"parent": obj{"type": "subscription_details", "subscription_details": obj{"subscription": "sub_1"}}, "lines": list(lines...),
	}
}

func paid(yes bool, amount int) int {
	if yes {
		return amount
	}
	return 0
}

func line(price string, amount, quantity int) obj {
	return obj{
		"id": "il_" + price, "object": "line_item", "amount": amount, "quantity": quantity,
		"pricing": obj{"type": "price_details", "price_details": obj{"price": "price_" + price, "product": "prod_" + price}},
		"parent":  obj{"type": "subscription_item_details", "subscription_item_details": obj{"proration": false, "subscription": "sub_1"}},
	}
}

func invoicePayment(invoice, intent string) obj {
	return obj{
		"id": "inpay_" + invoice, "object": "invoice_payment", "invoice": invoice, "status": "paid",
		"payment": obj{"type": "payment_intent", "payment_intent": intent},
	}
}

func intent(id, status string, metadata obj) obj {
	return obj{
		"id": id, "object": "payment_intent", "customer": "cus_1", "status": status, "amount": 1000,
		"amount_received": paid(status == "succeeded", 1000), "currency": "usd", "latest_charge": "ch_1", "metadata": metadata,
	}
}

func charge(refunded int) obj {
	return obj{
		"id": "ch_1", "object": "charge", "customer": "cus_1", "payment_intent": "pi_1", "status": "succeeded", "captured": true,
		"amount": 1000, "amount_captured": 1000, "amount_refunded": refunded, "currency": "usd", "metadata": obj{},
	}
}

func refund(id, status string, amount int) obj {
	return obj{
		"id": id, "object": "refund", "charge": "ch_1", "payment_intent": "pi_1", "amount": amount, "currency": "usd", "status": status,
	}
}

func dispute(status string, amount int) obj {
	return obj{
		"id": "dp_1", "object": "dispute", "charge": "ch_1", "payment_intent": "pi_1", "amount": amount, "currency": "usd",
		"status": status, "reason": "fraudulent",
	}
}

func customer(id string, metadata obj) obj {
	return obj{"id": id, "object": "customer", "email": "a@example.com", "metadata": metadata}
}

func price(name string, metadata obj) obj {
	return obj{
		"id": "price_" + name, "object": "price", "product": "prod_" + name, "active": true, "lookup_key": name,
		"unit_amount": 1000, "currency": "usd", "metadata": metadata,
	}
}

func product(name string, metadata obj) obj {
	return obj{"id": "prod_" + name, "object": "product", "active": true, "name": name, "metadata": metadata}
}
