package refetch

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
)

// basil is the first version of the API that has invoice payments.
const basil = "2025-03-31.basil"

// fetcher gets the current state of one kind of object.
type fetcher func(ctx context.Context, c *client, want request) (snapshot, error)

// fetchers are all kinds that the database keeps.
var fetchers = map[string]fetcher{
	"customer":         plain("/v1/customers"),
	"charge":           plain("/v1/charges"),
	"payment_intent":   plain("/v1/payment_intents"),
	"product":          plain("/v1/products"),
	"price":            plain("/v1/prices"),
	"plan":             plain("/v1/plans"),
	"refund":           plain("/v1/refunds"),
	"dispute":          plain("/v1/disputes"),
	"checkout.session": plain("/v1/checkout/sessions"),
	"subscription":     fetchSubscription,
	"invoice":          fetchInvoice,
	"invoice_payment":  fetchInvoicePayment,
	"entitlements.active_entitlement_summary": fetchEntitlements,
	"invoice_payment_list":                    fetchInvoicePaymentList,
}

// plain fetches objects that hold no list that goes on.
func plain(collection string) fetcher {
	return func(ctx context.Context, c *client, want request) (snapshot, error) {
		return c.one(ctx, collection, want, nil, "")
	}
}

// one fetches an object, or what says that it is gone.
func (c *client) one(ctx context.Context, collection string, want request, query url.Values, version string) (snapshot, error) {
	s, err := c.get(ctx, collection+"/"+url.PathEscape(want.ID), query, want.Account, version)
	if gone := (*missingError)(nil); errors.As(err, &gone) {
		return snapshot{object: object{"deleted": json.RawMessage("true"), "id": quote(want.ID), "object": quote(want.Object)}, at: gone.at}, nil
	}
	if err != nil {
		return snapshot{}, err
	}
	if s.object.text("object") == "" {
		s.object["object"] = quote(want.Object) // some deleted ones come without
	}
	return s, nil
}

func fetchSubscription(ctx context.Context, c *client, want request) (snapshot, error) {
	s, err := c.one(ctx, "/v1/subscriptions", want, nil, "")
	if err != nil {
		return snapshot{}, err
	}
	return s, c.complete(ctx, s.object, "items", want, "/v1/subscription_items", url.Values{"subscription": {want.ID}}, "")
}

// fetchInvoice asks for the invoice's payments too, where the account's version has them.
func fetchInvoice(ctx context.Context, c *client, want request) (snapshot, error) {
	s, err := c.one(ctx, "/v1/invoices", want, url.Values{"expand[]": {"payments"}}, "")
	if errors.As(err, &unknownParamError{}) {
		s, err = c.one(ctx, "/v1/invoices", want, nil, "")
	}
	if err != nil {
		return snapshot{}, err
	}
	if err := c.complete(ctx, s.object, "lines", want, "/v1/invoices/"+url.PathEscape(want.ID)+"/lines", url.Values{}, ""); err != nil {
		return snapshot{}, err
	}
	return s, c.complete(ctx, s.object, "payments", want, "/v1/invoice_payments", url.Values{"invoice": {want.ID}}, basil)
}

func fetchInvoicePayment(ctx context.Context, c *client, want request) (snapshot, error) {
	return c.one(ctx, "/v1/invoice_payments", want, nil, basil)
}

// fetchEntitlements lists what a customer is entitled to now, in the form of the event's summary. Nothing is
// what a customer is entitled to whom Stripe does not know any more.
func fetchEntitlements(ctx context.Context, c *client, want request) (snapshot, error) {
	page, err := c.all(ctx, "/v1/entitlements/active_entitlements", url.Values{"customer": {want.ID}}, want.Account, "")
	if gone := (*missingError)(nil); errors.As(err, &gone) {
		page, err = list{at: gone.at}, nil
	}
	if err != nil {
		return snapshot{}, err
	}
	s := snapshot{object: object{"object": quote(want.Object), "customer": quote(want.ID)}, at: page.at}
	s.object["entitlements"] = encode(object{
		"object": quote("list"), "data": encode(page.data), "has_more": json.RawMessage("false"),
		"url": quote("/v1/customer/" + want.ID + "/entitlements"),
	})
	if live, known := c.livemode(); known {
		s.object["livemode"] = encode(live)
	}
	return s, nil
}

// fetchInvoicePaymentList lists which invoices a payment paid. Stripe lists them by payment intent; a charge
// that has none was made without an invoice, or says itself which one it paid.
func fetchInvoicePaymentList(ctx context.Context, c *client, want request) (snapshot, error) {
	s := snapshot{object: object{"object": quote(want.Object), "id": quote(want.ID), "data": json.RawMessage("[]")}}
	intent := want.ID
	if !isIntent(want.ID) {
		charge, err := c.one(ctx, "/v1/charges", want, nil, "")
		if err != nil {
			return snapshot{}, err
		}
		s.at, intent = charge.at, charge.object.reference("payment_intent")
		if invoice := charge.object.reference("invoice"); invoice != "" {
			s.object["data"] = encode([]object{{"object": quote("invoice_payment"), "invoice": quote(invoice), "status": quote("paid")}})
			return s, nil
		}
		if intent == "" {
			return s, nil
		}
	}
	page, err := c.all(ctx, "/v1/invoice_payments", url.Values{"payment[type]": {"payment_intent"}, "payment[payment_intent]": {intent}}, want.Account, basil)
	if gone := (*missingError)(nil); errors.As(err, &gone) {
		page, err = list{at: gone.at}, nil
	}
	if err != nil {
		return snapshot{}, err
	}
	if s.at.IsZero() {
		s.at = page.at
	}
	s.object["data"] = encode(page.data)
	return s, nil
}
