package traffic

import (
	"embed"
	"encoding/json"
	"maps"
)

//go:embed objects/*.json
var objects embed.FS

// fields is a JSON object.
type fields = map[string]any

// kinds holds every object as Stripe fills it for whoever sets nothing.
var kinds = func() map[string]json.RawMessage {
	files, err := objects.ReadDir("objects")
	if err != nil {
		panic(err) // embedded
	}
	all := map[string]json.RawMessage{}
	for _, file := range files {
		text, err := objects.ReadFile("objects/" + file.Name())
		if err != nil {
			panic(err)
		}
		all[file.Name()[:len(file.Name())-len(".json")]] = text
	}
	return all
}()

// object makes one of a kind, with some of its fields set.
func object(kind string, set fields) fields {
	var out fields
	if err := json.Unmarshal(kinds[kind], &out); err != nil {
		panic(err) // an embedded file
	}
	maps.Copy(out, set)
	return out
}

// plan is what the shop sells by the month.
type plan struct {
	name, key, price, product string
	amount, credits           int64
}

var (
	basic = plan{"Basic", "basic", "price_trafficBasic", "prod_trafficBasic", 1900, 100}
	plus  = plan{"Plus", "plus", "price_trafficPlus", "prod_trafficPlus", 4900, 250}
)

const (
	packAmount  = 990
	packCredits = 40
)

func (p plan) object() fields {
	return object("price", fields{"id": p.price, "product": p.product, "lookup_key": p.key, "unit_amount": p.amount, "unit_amount_decimal": text(p.amount)})
}

// old is the plan that a price would have been.
func (p plan) old() fields {
	return object("plan", fields{"id": p.price, "product": p.product, "amount": p.amount, "amount_decimal": text(p.amount)})
}

func text(n int64) string {
	out, _ := json.Marshal(n)
	return string(out)
}

// payment is one purchase: what was asked for, and how it was paid.
type payment struct {
	invoice, number, intent, charge, session string
	amount, begun                            int64
	lines                                    []any
	reason                                   string
}

func (c *customer) object() fields {
	return object("customer", fields{"id": c.id, "created": c.now, "email": c.email})
}

func (c *customer) method() fields {
	return object("payment_method", fields{"id": c.card, "created": c.now, "customer": c.id})
}

func (c *customer) item() fields {
	item := object("subscription_item", fields{
		"id": c.itemID, "created": c.subscribed, "subscription": c.subscription,
		"plan": c.plan.old(), "price": c.plan.object(),
	})
	if !c.old() {
		item["current_period_start"], item["current_period_end"] = c.from, c.to
	}
	return item
}

func (c *customer) items() fields {
	return fields{
		"object": "list", "data": []any{c.item()}, "has_more": false, "total_count": 1,
		"url": "/v1/subscription_items?subscription=" + c.subscription,
	}
}

func (c *customer) subscriptionObject() fields {
	s := object("subscription", fields{
		"id": c.subscription, "customer": c.id, "status": c.status, "created": c.subscribed, "start_date": c.subscribed,
		"billing_cycle_anchor": c.subscribed, "items": c.items(), "latest_invoice": c.latest, "default_payment_method": c.card,
		"plan": c.plan.old(), "quantity": 1,
	})
	if c.old() {
		s["current_period_start"], s["current_period_end"] = c.from, c.to
		delete(s, "billing_mode")
	}
	return s
}

// line bills a plan; a proration bills the rest of a period.
func (c *customer) line(p plan, amount int64, proration bool, description string) fields {
	l := object("line_item", fields{
		"id": c.newID("il_1Tr", 18), "amount": amount, "subtotal": amount, "description": description,
		"period": fields{"start": c.from, "end": c.to},
		"taxes":  []any{fields{"amount": amount * 23 / 123, "tax_behavior": "inclusive", "tax_rate_details": fields{"tax_rate": "txr_example0000000000000"}, "taxability_reason": "standard_rated", "taxable_amount": amount * 100 / 123, "type": "tax_rate_details"}},
	})
	if c.old() {
		l["price"], l["plan"], l["subscription"], l["subscription_item"] = p.object(), p.old(), c.subscription, c.itemID
		l["type"], l["proration"] = "subscription", proration
		return l
	}
	l["pricing"] = fields{
		"type": "price_details", "price_details": fields{"price": p.price, "product": p.product}, "unit_amount_decimal": text(amount),
	}
	l["parent"] = fields{
		"type": "subscription_item_details", "invoice_item_details": nil,
		"subscription_item_details": fields{
			"invoice_item": nil, "proration": proration, "proration_details": fields{"credited_items": nil},
			"subscription": c.subscription, "subscription_item": c.itemID,
		},
	}
	return l
}

// invoice says how far it has come: draft, open or paid.
func (c *customer) invoice(p *payment, status string) fields {
	paid := map[string]int64{"paid": p.amount}[status]
	at := func(yes bool) any {
		if yes {
			return c.now
		}
		return nil
	}
	tax := p.amount * 23 / 123
	n := object("invoice", fields{
		"id": p.invoice, "customer": c.id, "status": status, "billing_reason": p.reason, "created": p.begun,
		"period_start": c.from, "period_end": c.to, "effective_at": at(status != "draft"), "webhooks_delivered_at": p.begun,
		"amount_due": p.amount, "amount_paid": paid, "amount_remaining": p.amount - paid,
		"subtotal": p.amount, "subtotal_excluding_tax": p.amount - tax, "total": p.amount, "total_excluding_tax": p.amount - tax,
		"total_taxes": []any{fields{"amount": tax, "tax_behavior": "inclusive", "tax_rate_details": fields{"tax_rate": "txr_example0000000000000"}, "taxability_reason": "standard_rated", "taxable_amount": p.amount - tax, "type": "tax_rate_details"}},
		"lines":       fields{"object": "list", "data": p.lines, "has_more": false, "total_count": len(p.lines), "url": "/v1/invoices/" + p.invoice + "/lines"},
		"status_transitions": fields{
			"finalized_at": at(status != "draft"), "marked_uncollectible_at": nil, "paid_at": at(status == "paid"), "voided_at": nil,
		},
		"number": nil, "hosted_invoice_url": nil, "invoice_pdf": nil,
	})
	if status != "draft" {
		n["number"] = p.number
		n["hosted_invoice_url"] = "https://invoice.example.com/i/acct_example00000000/" + p.invoice + "abcdefghijklmnopqrstuvwxyz0123456789?s=ap"
		n["invoice_pdf"] = "https://pay.example.com/invoice/acct_example00000000/" + p.invoice + "abcdefghijklmnopqrstuvwxyz0123456789/pdf?s=ap"
	}
	if c.old() {
		n["subscription"], n["payment_intent"], n["charge"], n["paid"] = c.subscription, nil, nil, status == "paid"
		if status != "draft" {
			n["payment_intent"] = p.intent
		}
		if status == "paid" {
			n["charge"] = p.charge
		}
		return n
	}
	n["parent"] = fields{
		"type": "subscription_details", "quote_details": nil,
		"subscription_details": fields{"metadata": fields{"campaign": "spring"}, "subscription": c.subscription},
	}
	return n
}
