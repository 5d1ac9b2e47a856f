package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync/atomic"
	"time"
)

// start is the time of the first event; the tests count seconds from it.
const start = int64(1764500000)

// serial makes ids that no other test has.
var serial atomic.Int64

func fresh(prefix string) string { return fmt.Sprintf("%s_e2e%06d", prefix, serial.Add(1)) }

// fields is a JSON object of Stripe's.
type fields map[string]any

// with returns a copy with some fields set anew.
func (f fields) with(more fields) fields {
	out := maps.Clone(f)
	maps.Copy(out, more)
	return out
}

// event is an event as Stripe makes it, before it is written out and signed.
type event struct {
	id, kind string
	top      fields
}

func newEvent(kind string, at int64, object fields) event {
	id := fresh("evt")
	return event{id: id, kind: kind, top: fields{
		"id": id, "object": "event", "type": kind, "created": start + at, "livemode": false,
		"api_version": "2025-09-30.clover", "pending_webhooks": 1,
		"request": fields{"id": nil, "idempotency_key": nil},
		"data":    fields{"object": object},
	}}
}

// with returns the event with some of its top-level fields set anew; a nil one is left out.
func (e event) with(more fields) event {
	e.top = e.top.with(more)
	for key, value := range more {
		if value == nil {
			delete(e.top, key)
		}
	}
	return e
}

// object is the id of the object that the event is about.
func (e event) object() string { return e.top["data"].(fields)["object"].(fields)["id"].(string) }

func (e event) body() []byte {
	out, err := json.Marshal(e.top)
	if err != nil {
		panic(err) // the tests' own values
	}
	return out
}

// buyer is one customer of the shop with what happens to it.
type buyer struct{ user, customer, subscription string }

func newBuyer() buyer {
	return buyer{user: fresh("user"), customer: fresh("cus"), subscription: fresh("sub")}
}

// checkout is the only event that names the user.
func (b buyer) checkout() event {
	return newEvent("checkout.session.completed", 0, fields{
		"id": fresh("cs"), "object": "checkout.session", "mode": "subscription", "payment_status": "paid", "status": "complete",
		"customer": b.customer, "subscription": b.subscription, "client_reference_id": b.user,
		"customer_details": fields{"email": "buyer@example.com"}, "metadata": fields{},
	})
}

// subscribed is an event of the subscription, such as created or updated, of a given second.
func (b buyer) subscribed(change, status string, at int64) event {
	period := fields{"current_period_start": start, "current_period_end": start + int64((30 * 24 * time.Hour).Seconds())}
	return newEvent("customer.subscription."+change, at, fields{
		"id": b.subscription, "object": "subscription", "customer": b.customer, "status": status, "created": start,
		"cancel_at_period_end": false, "metadata": fields{},
		"items": fields{"object": "list", "has_more": false, "data": []any{fields{
			"id": "si_of_" + b.subscription, "object": "subscription_item", "quantity": 1,
			"price": fields{"id": "price_pro", "object": "price", "product": "prod_pro"},
		}.with(period)}},
	})
}

// paid is a paid renewal of the subscription.
func (b buyer) paid(invoice string) event {
	return newEvent("invoice.paid", 1, fields{
		"id": invoice, "object": "invoice", "customer": b.customer, "status": "paid",
		"billing_reason": "subscription_cycle", "amount_paid": 1900, "total": 1900, "currency": "eur",
		"parent": fields{"type": "subscription_details", "subscription_details": fields{"subscription": b.subscription}},
	})
}
