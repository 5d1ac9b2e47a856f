package facts_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A reader of Stripe's objects that shares nothing with the one in SQL.

// dig follows keys through objects; nil where there is no such way.
func dig(value any, keys ...string) any {
	for _, key := range keys {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[key]
	}
	return value
}

func text(value any) string { s, _ := value.(string); return s }

// ref is the id of an object, given by id or as the object; nil where there is none.
func ref(value any) any {
	switch v := value.(type) {
	case string:
		if v != "" {
			return v
		}
	case map[string]any:
		return ref(v["id"])
	}
	return nil
}

// first is the first that is not nil.
func first(values ...any) any {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

func elements(value any) []map[string]any {
	data, _ := dig(value, "data").([]any)
	var out []map[string]any
	for _, e := range data {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func seconds(t *testing.T, at string) float64 {
	t.Helper()
	parsed, err := time.Parse("2006-01-02T15:04:05Z07:00", at)
	require.NoError(t, err)
	return float64(parsed.Unix())
}

// readEvent returns which table an event's object goes to and what that table must say of it; nil for what is not kept.
func readEvent(event obj) (kind string, facts map[string]any) {
	object, _ := dig(map[string]any(event), "data", "object").(map[string]any)
	eventType := text(event["type"])
	if ref(object["id"]) == nil || strings.HasPrefix(eventType, "invoice.upcoming") {
		return "", nil
	}
	deleted := strings.HasSuffix(eventType, ".deleted") || object["deleted"] == true
	switch {
	case strings.HasPrefix(eventType, "customer.subscription."):
		return "subscription", readSubscription(object)
	case strings.HasPrefix(eventType, "customer.") && strings.Count(eventType, ".") == 1:
		return "customer", map[string]any{"email": object["email"], "deleted": deleted}
	case strings.HasPrefix(eventType, "invoice."):
		return "invoice", readInvoice(object)
	case strings.HasPrefix(eventType, "charge.dispute."):
		return "dispute", map[string]any{"status": object["status"], "amount": object["amount"], "charge": ref(object["charge"]), "intent": ref(object["payment_intent"]), "reason": object["reason"]}
	case strings.HasPrefix(eventType, "charge.refund."), strings.HasPrefix(eventType, "refund."):
		return "refund", map[string]any{"status": object["status"], "amount": object["amount"], "charge": ref(object["charge"]), "intent": ref(object["payment_intent"]), "currency": object["currency"]}
	case strings.HasPrefix(eventType, "charge."), strings.HasPrefix(eventType, "payment_intent."):
		return "payment", readPayment(object)
	case strings.HasPrefix(eventType, "checkout.session."):
		return "session", map[string]any{"status": object["status"], "payment_status": object["payment_status"], "customer": ref(object["customer"]), "invoice": ref(object["invoice"]), "total": object["amount_total"], "mode": object["mode"]}
	case strings.HasPrefix(eventType, "price."), strings.HasPrefix(eventType, "plan."):
		return "price", map[string]any{
			"product": ref(object["product"]), "lookup_key": object["lookup_key"], "amount": whole(first(object["unit_amount"], object["amount"])),
			"interval": first(dig(object, "recurring", "interval"), object["interval"]), "deleted": deleted,
		}
	case strings.HasPrefix(eventType, "product."):
		return "product", map[string]any{"name": object["name"], "active": object["active"] != false, "deleted": deleted}
	}
	return "", nil
}

func readSubscription(object map[string]any) map[string]any {
	items := elements(object["items"])
	if len(items) == 0 && object["plan"] != nil {
		items = []map[string]any{{"plan": object["plan"], "quantity": object["quantity"]}}
	}
	start, end := object["current_period_start"], object["current_period_end"]
	if end == nil {
		earliest := math.Inf(1)
		for _, item := range items {
			if at, ok := item["current_period_end"].(float64); ok && at < earliest {
				earliest, start, end = at, item["current_period_start"], at
			}
		}
	}
	cancelAt := object["cancel_at"]
	if cancelAt == nil && object["cancel_at_period_end"] == true {
		cancelAt = end
	}
	status := any("unknown")
	if object["status"] != nil {
		status = object["status"]
	}
	facts := map[string]any{
		"status": status, "customer": ref(object["customer"]), "start": start, "end": end, "cancel_at": cancelAt,
		"canceled_at": object["canceled_at"], "ended_at": object["ended_at"], "pause": dig(object, "pause_collection", "behavior"), "items": nil,
	}
	var rows [][]any
	for _, item := range items {
		price := first(item["price"], item["plan"])
		rows = append(rows, []any{ref(price), ref(dig(price, "product")), item["quantity"]})
	}
	slices.SortFunc(rows, func(a, b []any) int { return cmp.Compare(fmt.Sprint(a[0], a[2]), fmt.Sprint(b[0], b[2])) })
	if rows != nil {
		facts["items"] = rows
	}
	return facts
}

func readInvoice(object map[string]any) map[string]any {
	status := object["status"]
	if status == nil {
		switch {
		case object["forgiven"] == true:
			status = "uncollectible"
		case object["paid"] != true && object["closed"] == true:
			status = "void"
		case object["paid"] == false:
			status = "open"
		}
	}
	if object["paid"] == true {
		status = "paid"
	}
	facts := map[string]any{
		"status": status, "customer": ref(object["customer"]), "total": object["total"], "due": object["amount_due"], "currency": object["currency"],
		"subscription": ref(first(object["subscription"], dig(object, "parent", "subscription_details", "subscription"))),
		"paid":         nil, "payments": nil, "lines": nil,
	}
	if status == "paid" {
		facts["paid"] = first(object["amount_paid"], object["amount_due"])
	}
	payments := []string{text(ref(object["payment_intent"])), text(ref(object["charge"]))}
	for _, p := range elements(object["payments"]) {
		payments = append(payments, text(ref(dig(p, "payment", "payment_intent"))), text(ref(dig(p, "payment", "charge"))))
	}
	if ids := sorted(payments); len(ids) > 0 {
		facts["payments"] = ids
	}
	lines := map[string][]any{}
	if twins(elements(object["lines"])) {
		delete(facts, "lines") // made-up ids: no table can keep both
	}
	for _, line := range elements(object["lines"]) {
		subscription := ref(first(line["subscription"], dig(line, "parent", "subscription_item_details", "subscription"), dig(line, "parent", "invoice_item_details", "subscription")))
		if subscription == nil && strings.HasPrefix(text(line["id"]), "sub_") {
			subscription = line["id"]
		}
		proration := first(line["proration"], dig(line, "parent", "subscription_item_details", "proration"), dig(line, "parent", "invoice_item_details", "proration"))
		price := ref(first(dig(line, "pricing", "price_details", "price"), line["price"], line["plan"]))
		lines[text(line["id"])] = []any{price, subscription, line["amount"], line["quantity"], proration == true}
	}
	if _, kept := facts["lines"]; kept && len(lines) > 0 {
		var rows [][]any
		for _, id := range sorted(keys(lines)) {
			rows = append(rows, lines[id])
		}
		facts["lines"] = rows
	}
	return facts
}

// twins says whether two elements have one id.
func twins(list []map[string]any) bool {
	ids := map[string]bool{}
	for _, e := range list {
		ids[text(e["id"])] = true
	}
	return len(ids) < len(list)
}

func readPayment(object map[string]any) map[string]any {
	amount := first(object["amount_received"], object["amount_captured"])
	if amount == nil && object["captured"] == true {
		amount = object["amount"]
	}
	facts := map[string]any{
		"status": object["status"], "customer": ref(object["customer"]), "amount": object["amount"], "paid": amount, "refunded": object["amount_refunded"],
		"currency": object["currency"], "invoice": ref(object["invoice"]), "others": nil,
	}
	others := []string{text(ref(object["payment_intent"])), text(ref(object["latest_charge"]))}
	for _, c := range elements(object["charges"]) {
		others = append(others, text(c["id"]))
	}
	if ids := sorted(others); len(ids) > 0 {
		facts["others"] = ids
	}
	return facts
}

func whole(value any) any {
	if f, ok := value.(float64); ok {
		return math.Trunc(f)
	}
	return nil
}

// sorted are the values that are not blank, each once, in order.
func sorted(values []string) []string {
	values = slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" })
	slices.Sort(values)
	return slices.Compact(values)
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for key := range m {
		out = append(out, key)
	}
	return out
}
