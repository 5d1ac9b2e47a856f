package facts_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// collected reads a folder of JSON files that may lie beside the repository.
func collected(t *testing.T, folder string) map[string]obj {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(here), "..", "..", "..", "shared", folder, "*.json"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skipf("no collected Stripe %s in ../shared/%s beside the repository", folder, folder)
	}
	return parse(t, files)
}

func parse(t *testing.T, files []string) map[string]obj {
	t.Helper()
	out := map[string]obj{}
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		var object obj
		require.NoError(t, json.Unmarshal(body, &object), file)
		out[filepath.Base(file)] = object
	}
	return out
}

// wrap makes an event of an object alone.
func wrap(object obj) obj {
	kind := text(object["object"])
	eventType := map[string]string{
		"subscription": "customer.subscription.updated", "checkout.session": "checkout.session.completed", "dispute": "charge.dispute.updated",
	}[kind]
	if eventType == "" {
		eventType = kind + ".updated"
	}
	return obj{"id": "evt_wrapped", "object": "event", "type": eventType, "created": now, "livemode": false, "data": map[string]any{"object": map[string]any(object)}}
}

// told are the tables' answer to what a person reads off the JSON: one query of one JSON object per kind of object.
var told = map[string]string{
	"subscription": `
		select jsonb_build_object('status', s.status, 'customer', s.customer_id, 'start', s.current_period_start, 'end', s.current_period_end,
			'cancel_at', s.cancel_at, 'canceled_at', s.canceled_at, 'ended_at', s.ended_at, 'pause', s.pause_behavior,
			'items', (select jsonb_agg(jsonb_build_array(i.price_id, i.product_id, i.quantity) order by i.price_id, i.quantity) from paidonce.subscription_items as i where i.subscription_id = s.subscription_id))
		from paidonce.subscriptions as s where s.subscription_id = $1`,
	"invoice": `
		select jsonb_build_object('status', n.status, 'customer', n.customer_id, 'subscription', n.subscription_id, 'total', n.total, 'due', n.amount_due, 'currency', n.currency,
			'paid', case when n.status = 'paid' then n.amount_paid end,
			'payments', (select jsonb_agg(o.object_id order by o.object_id) from paidonce.purchase_objects as o where o.kind = 'payment'),
			'lines', (select jsonb_agg(jsonb_build_array(l.price_id, l.subscription_id, l.amount, l.quantity, l.proration) order by l.line_id) from paidonce.invoice_lines as l where l.invoice_id = n.invoice_id))
		from paidonce.invoices as n where n.invoice_id = $1`,
	"payment": `
		select jsonb_build_object('status', p.status, 'customer', p.customer_id, 'amount', p.amount, 'paid', p.amount_paid, 'refunded', p.amount_refunded, 'currency', p.currency,
			'invoice', (select o.object_id from paidonce.purchase_objects as o where o.kind = 'invoice'),
			'others', (select jsonb_agg(o.object_id order by o.object_id) from paidonce.purchase_objects as o where o.kind = 'payment' and o.object_id <> p.payment_id))
		from paidonce.payments as p where p.payment_id = $1`,
	"refund":   `select jsonb_build_object('status', r.status, 'amount', r.amount, 'charge', r.charge_id, 'intent', r.payment_intent_id, 'currency', r.currency) from paidonce.refunds as r where r.refund_id = $1`,
	"dispute":  `select jsonb_build_object('status', d.status, 'amount', d.amount, 'charge', d.charge_id, 'intent', d.payment_intent_id, 'reason', d.reason) from paidonce.disputes as d where d.dispute_id = $1`,
	"session":  `select jsonb_build_object('status', s.status, 'payment_status', s.payment_status, 'customer', s.customer_id, 'invoice', s.invoice_id, 'total', s.amount_total, 'mode', s.mode) from paidonce.checkout_sessions as s where s.session_id = $1`,
	"customer": `select jsonb_build_object('email', c.email, 'deleted', c.deleted) from paidonce.customers as c where c.customer_id = $1`,
	"price":    `select jsonb_build_object('product', p.product_id, 'lookup_key', p.lookup_key, 'amount', p.unit_amount, 'interval', p.recurring_interval, 'deleted', p.deleted) from paidonce.prices as p where p.price_id = $1`,
	"product":  `select jsonb_build_object('name', p.name, 'active', p.active, 'deleted', p.deleted) from paidonce.products as p where p.product_id = $1`,
}

// compare delivers an event alone and compares the row it leaves with what the reader reads. It reports whether there was anything to compare.
func compare(t *testing.T, db *pgtest.DB, file string, event obj) bool {
	t.Helper()
	tx, err := db.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, named := event["id"]; !named {
		event = event.with(obj{"id": "evt_" + file})
	}
	outcome, err := handle(t.Context(), tx, encode(event))
	require.NoError(t, err, file)
	require.Contains(t, []string{"processed", "ignored"}, outcome, file)

	kind, want := readEvent(event)
	if want == nil {
		return false
	}
	require.Equal(t, "processed", outcome, file)
	object, _ := dig(map[string]any(event), "data", "object").(map[string]any)
	var row string
	err = tx.QueryRow(t.Context(), told[kind], text(object["id"])).Scan(&row)
	require.NotErrorIs(t, err, pgx.ErrNoRows, file)
	require.NoError(t, err, file)
	require.JSONEq(t, encode(want), normal(t, row, want), file)
	return true
}

// normal writes times as Stripe does and leaves out what is not wanted, so that the two can be compared.
func normal(t *testing.T, row string, want map[string]any) string {
	t.Helper()
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(row), &fields))
	for key := range fields {
		if _, wanted := want[key]; !wanted && key == "lines" {
			delete(fields, key)
		}
	}
	for _, key := range []string{"start", "end", "cancel_at", "canceled_at", "ended_at"} {
		if at, ok := fields[key].(string); ok {
			fields[key] = seconds(t, at)
		}
	}
	return encode(fields)
}

func TestReading(t *testing.T) {
	t.Parallel()
	for name, load := range map[string]func(t *testing.T) map[string]obj{
		"the collected events": func(t *testing.T) map[string]obj { return collected(t, "events") },
		"the collected objects": func(t *testing.T) map[string]obj {
			wrapped := map[string]obj{}
			for file, object := range collected(t, "objects") {
				if text(object["object"]) != "event" {
					wrapped[file] = wrap(object)
				}
			}
			return wrapped
		},
		"events of every API version": func(t *testing.T) map[string]obj {
			files, err := filepath.Glob("../fixtures/*.json")
			require.NoError(t, err)
			require.NotEmpty(t, files)
			return parse(t, files)
		},
	} {
		t.Run("given "+name+" when each is read then the tables say what a person reads off it", func(t *testing.T) {
			t.Parallel()
			events := load(t)
			db := pgtest.New(t)
			files := make([]string, 0, len(events))
			for file := range events {
				files = append(files, file)
			}
			slices.Sort(files)
			read := 0
			for _, file := range files {
				if strings.HasPrefix(file, "README") {
					continue
				}
				if compare(t, db, file, events[file]) {
					read++
				}
			}
			require.Positive(t, read)
			t.Logf("%d events, %d of them about objects that are kept, no difference", len(files), read)
		})
	}
}
