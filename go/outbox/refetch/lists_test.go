package refetch_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outbox/refetch"
	"github.com/paidonce/paidonce/internal/testing/fakehttp"
	"github.com/paidonce/paidonce/internal/testing/fakestripe"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestLists(t *testing.T) {
	t.Parallel()

	t.Run("given a subscription with more items than a page when it is refetched then all are kept and old ones go", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		d.stripe.Pages(10, 7)
		d.stripe.Put("acct_1", subscription("active", object{"items": object{"object": "list", "data": items(33)}}))
		d.requireSent("subscription", "sub_1", "acct_1")
		require.Equal(t, 33, pgtest.One[int](t, d.db, "select count(*) from paidonce.subscription_items"))
		require.Equal(t, "33 false", pgtest.One[string](t, d.db, "select jsonb_array_length(data #> '{items,data}') || ' ' || (data #>> '{items,has_more}') from paidonce.subscriptions"))
		pages := d.stripe.Requests("GET", "/v1/subscription_items")
		require.Len(t, pages, 4)
		for _, p := range pages {
			require.Equal(t, "acct_1 sub_1 100", p.Header.Get("Stripe-Account")+" "+p.Query.Get("subscription")+" "+p.Query.Get("limit"))
		}
		d.stripe.Put("acct_1", subscription("active", object{"items": object{"object": "list", "data": items(12)}}))
		d.requireSent("subscription", "sub_1", "acct_1")
		require.Equal(t, 12, pgtest.One[int](t, d.db, "select count(*) from paidonce.subscription_items"))
	})

	t.Run("given a page that fails when the rest is fetched then nothing is applied", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		d.stripe.Put("", subscription("active", object{"items": object{"object": "list", "data": items(11)}}))
		d.stripe.Break(fakehttp.Fault{Path: "/v1/subscription_items", Status: 500})
		verdict, _ := d.ask("subscription", "sub_1", "")
		require.Equal(t, "retry", verdict)
		require.Zero(t, pgtest.One[int](t, d.db, "select count(*) from paidonce.subscriptions"))
	})

	for name, old := range map[string]bool{"of a version with payments": false, "of an old version": true} {
		t.Run("given an invoice with more lines than a page, "+name+", when it is refetched then all are kept", func(t *testing.T) {
			t.Parallel()
			d := open(t)
			if old {
				d.stripe.Old()
			}
			d.stripe.Put("", invoice("in_1", 25, "pi_1"))
			d.requireSent("invoice", "in_1", "")
			require.Equal(t, 25, pgtest.One[int](t, d.db, "select count(*) from paidonce.invoice_lines"))
			linked := pgtest.One[int](t, d.db, "select count(*) from paidonce.purchase_objects as i join paidonce.purchase_objects as p using (purchase_id) where i.object_id = 'in_1' and p.object_id = 'pi_1'")
			require.Equal(t, map[bool]int{false: 1, true: 0}[old], linked)
		})
	}

	t.Run("given more entitlements than the ten of an event when they are refetched then all count, and go when they are gone", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		d.stripe.Pages(10, 8)
		for i := range 23 {
			d.stripe.Put("", entitlement(i, "cus_1"))
		}
		d.stripe.Put("", entitlement(99, "cus_2"))
		const kept = "select cardinality(features) || ' ' || complete || ' ' || livemode from paidonce.entitlement_summaries where customer_id = 'cus_1'"
		d.requireSent("entitlements.active_entitlement_summary", "cus_1", "")
		require.Equal(t, "23 true false", pgtest.One[string](t, d.db, kept))
		for i := range 23 {
			d.stripe.Delete("", fmt.Sprintf("ent_%02d", i), true)
		}
		d.requireSent("entitlements.active_entitlement_summary", "cus_1", "")
		require.Equal(t, "0 true false", pgtest.One[string](t, d.db, kept))
	})

	t.Run("given a customer whom Stripe does not know any more when entitlements are refetched then there are none", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		d.stripe.Put("", entitlement(1, "cus_1"))
		d.requireSent("entitlements.active_entitlement_summary", "cus_1", "")
		d.stripe.Break(fakehttp.Fault{Status: 404, Header: map[string]string{"Date": "Fri, 31 Dec 2100 00:00:00 GMT"}, Body: `{"error":{"type":"invalid_request_error","code":"resource_missing","message":"No such customer"}}`})
		d.requireSent("entitlements.active_entitlement_summary", "cus_1", "")
		require.Equal(t, "0", pgtest.One[string](t, d.db, "select cardinality(features)::text from paidonce.entitlement_summaries"))
	})
}

func TestInvoicePayments(t *testing.T) {
	t.Parallel()
	const linked = "select count(*) from paidonce.purchase_objects as i join paidonce.purchase_objects as p using (purchase_id) where i.object_id = $1 and p.object_id = $2"

	for name, old := range map[string]bool{"an account of today": false, "an account of an old version": true} {
		t.Run("given "+name+" when a payment intent's invoices are asked for then they are linked", func(t *testing.T) {
			t.Parallel()
			d := open(t)
			if old {
				d.stripe.Old()
			}
			d.stripe.Put("", invoice("in_1", 1, "pi_1"))
			d.stripe.Put("", invoice("in_2", 1, "pi_2"))
			d.db.Exec(t, "select paidonce.join_purchase(null, null, null, array['pi_1'])")
			d.requireSent("invoice_payment_list", "pi_1", "")
			require.Equal(t, 1, pgtest.One[int](t, d.db, linked, "in_1", "pi_1"))
			require.Equal(t, 0, pgtest.One[int](t, d.db, linked, "in_2", "pi_1"))
			require.True(t, pgtest.One[bool](t, d.db, "select link_known from paidonce.purchase_objects where object_id = 'pi_1'"))
			require.Equal(t, "2025-03-31.basil", d.stripe.Requests("GET", "/v1/invoice_payments")[0].Header.Get("Stripe-Version"))
		})
	}

	t.Run("given a charge of a payment intent when its invoices are asked for then those of the intent are linked", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		d.stripe.Put("", invoice("in_1", 1, "pi_1"))
		d.stripe.Put("", object{"id": "ch_1", "object": "charge", "payment_intent": "pi_1", "livemode": false})
		d.db.Exec(t, "select paidonce.join_purchase(null, null, null, array['ch_1'])")
		d.requireSent("invoice_payment_list", "ch_1", "")
		require.Equal(t, 1, pgtest.One[int](t, d.db, linked, "in_1", "ch_1"))
	})

	t.Run("given a charge of an old version when its invoices are asked for then the one it names is linked", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		d.stripe.Put("", object{"id": "ch_1", "object": "charge", "invoice": "in_1", "livemode": false})
		d.db.Exec(t, "select paidonce.join_purchase(null, null, null, array['ch_1'])")
		d.requireSent("invoice_payment_list", "ch_1", "")
		require.Equal(t, 1, pgtest.One[int](t, d.db, linked, "in_1", "ch_1"))
	})

	for name, o := range map[string]object{
		"a charge on its own": {"id": "ch_1", "object": "charge", "livemode": false},
		"no such charge":      {"id": "ch_2", "object": "charge", "livemode": false},
	} {
		t.Run("given "+name+" when its invoices are asked for then it is known that there are none", func(t *testing.T) {
			t.Parallel()
			d := open(t)
			d.stripe.Put("", o)
			d.db.Exec(t, "select paidonce.join_purchase(null, null, null, array['ch_1'])")
			d.requireSent("invoice_payment_list", "ch_1", "")
			require.True(t, pgtest.One[bool](t, d.db, "select link_known from paidonce.purchase_objects where object_id = 'ch_1'"))
		})
	}

	t.Run("given an invoice payment when it is refetched then it links", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		d.stripe.Put("", invoicePayment("in_1", "pi_1"))
		d.requireSent("invoice_payment", "inpay_in_1", "")
		require.Equal(t, 1, pgtest.One[int](t, d.db, linked, "in_1", "pi_1"))
	})
}

// TestKinds fetches one of each kind that the database keeps.
func TestKinds(t *testing.T) {
	t.Parallel()
	d := open(t)
	for kind, o := range map[string]object{
		"customer":         {"id": "cus_1", "object": "customer"},
		"charge":           {"id": "ch_1", "object": "charge", "status": "succeeded", "amount": 5},
		"payment_intent":   {"id": "pi_1", "object": "payment_intent", "status": "succeeded"},
		"product":          {"id": "prod_1", "object": "product"},
		"price":            {"id": "price_1", "object": "price"},
		"plan":             {"id": "plan_1", "object": "plan"},
		"refund":           {"id": "re_1", "object": "refund", "charge": "ch_1"},
		"dispute":          {"id": "dp_1", "object": "dispute", "charge": "ch_1"},
		"checkout.session": {"id": "cs_test_1", "object": "checkout.session", "mode": "payment", "customer": "cus_1", "client_reference_id": "u1"},
		"subscription":     subscription("active"),
		"invoice":          invoice("in_1", 1, "pi_1"),
		"invoice_payment":  invoicePayment("in_1", "pi_1"),
	} {
		t.Run("given a "+kind+" when it is refetched then it is kept", func(t *testing.T) {
			d.stripe.Put("", o)
			d.requireSent(kind, o["id"].(string), "")
			if kind != "invoice_payment" {
				require.True(t, pgtest.One[bool](t, d.db, "select exists (select from paidonce.stated($1, $2) where data is not null)", kind, o["id"]))
			}
		})
	}

	t.Run("given every kind that the database keeps then it can be fetched", func(t *testing.T) {
		kinds := pgtest.One[[]string](t, d.db, `select array_agg(distinct k order by k) from (
			select k from unnest(array['customer', 'charge', 'payment_intent', 'product', 'price', 'plan', 'refund', 'dispute', 'checkout.session', 'subscription', 'invoice', 'invoice_payment', 'invoice_payment_list',
				'entitlements.active_entitlement_summary', 'payment_method', 'coupon', 'account', 'credit_note', 'subscription_schedule', 'subscription_item', 'payout', 'setup_intent', 'promotion_code', 'tax_rate']) as k
			where paidonce.projection_of(null, k) is not null) as s (k)`)
		require.ElementsMatch(t, refetch.Kinds(), kinds)
	})
}

func invoice(id string, lines int, intent string) object {
	var all []any
	for i := range lines {
		all = append(all, object{"id": fmt.Sprintf("il_%s_%03d", id, i), "object": "line_item", "amount": 100, "quantity": 1, "pricing": object{"price_details": object{"price": "price_1", "product": "prod_1"}}})
	}
	return object{
		"id": id, "object": "invoice", "customer": "cus_1", "status": "paid", "amount_paid": 100, "currency": "eur", "livemode": false,
		"lines": object{"object": "list", "data": all}, "payments": object{"object": "list", "data": []any{invoicePayment(id, intent)}},
	}
}

func invoicePayment(invoice, intent string) object {
	return object{
		"id": "inpay_" + invoice, "object": "invoice_payment", "invoice": invoice, "status": "paid", "livemode": false,
		"payment": object{"type": "payment_intent", "payment_intent": intent},
	}
}

func entitlement(n int, customer string) fakestripe.Object {
	return object{"id": fmt.Sprintf("ent_%02d", n), "object": "entitlements.active_entitlement", "lookup_key": fmt.Sprintf("feature_%02d", n), "customer": customer, "livemode": false}
}
