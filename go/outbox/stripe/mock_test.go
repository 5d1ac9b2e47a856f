package stripe_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-mock/embedded"
	"github.com/stripe/stripe-mock/server"

	"github.com/paidonce/paidonce/go/outbox/stripe"
	"github.com/paidonce/paidonce/go/outboxtest"
)

// TestShapes lets Stripe's own mock, which knows every endpoint and parameter of the API, judge what is sent.
func TestShapes(t *testing.T) {
	t.Parallel()
	spec, err := server.LoadSpec(embedded.OpenAPISpec, "")
	require.NoError(t, err)
	fixtures, err := server.LoadFixtures(embedded.OpenAPIFixtures, "")
	require.NoError(t, err)
	stub, err := server.NewStubServer(fixtures, spec, false, false)
	require.NoError(t, err)
	mock := httptest.NewServer(http.HandlerFunc(stub.HandleRequest))
	t.Cleanup(mock.Close)
	send, _, err := stripe.New(stripe.Options{Key: "sk_test_123", BaseURL: mock.URL})
	require.NoError(t, err)

	for _, payload := range []string{
		invoice, refund, looked, cancel, endNow, onBehalf,
		`{"path": "/v1/subscriptions", "params": {"customer": "cus_1", "items": [{"price": "price_1", "quantity": 2}, {"price": "price_2"}], "metadata": {"order": "7"}}}`,
		`{"path": "/v1/checkout/sessions", "params": {"mode": "payment", "success_url": "https://shop.example", "line_items": [{"price": "price_1", "quantity": 1}]}}`,
		`{"path": "/v1/credit_notes", "params": {"invoice": "in_1", "amount": 100}}`,
		`{"path": "/v1/invoiceitems", "params": {"customer": "cus_1", "amount": 100, "currency": "eur"}}`,
		`{"path": "/v1/transfers", "params": {"amount": 100, "currency": "eur", "destination": "acct_1"}}`,
		`{"path": "/v1/coupons", "params": {"percent_off": 25.5, "duration": "once"}}`,
		`{"path": "/v1/billing/credit_grants", "params": {"customer": "cus_1", "category": "paid", "amount": {"type": "monetary", "monetary": {"value": 100, "currency": "eur"}}, "applicability_config": {"scope": {"price_type": "metered"}}}}`,
		`{"path": "/v1/products", "params": {"name": "Pro"}}`,
		`{"path": "/v1/entitlements/features", "params": {"name": "Pro", "lookup_key": "pro"}}`,
	} {
		t.Run("given "+payload+" when stripe-mock judges it then it is a request that Stripe knows", func(t *testing.T) {
			t.Parallel()
			_, err := send(t.Context(), outboxtest.Action("stripe.call", rowKey, payload))
			require.NoError(t, err)
		})
	}

	t.Run("given a parameter that Stripe does not know when stripe-mock judges it then it is refused", func(t *testing.T) {
		t.Parallel()
		_, err := send(t.Context(), outboxtest.Action("stripe.call", rowKey, `{"path": "/v1/refunds", "params": {"no_such": 1}}`))
		require.Equal(t, "dead", outboxtest.Verdict(err))
	})

	t.Run("given a row that is looked up first when stripe-mock judges it then the search is one that Stripe knows", func(t *testing.T) {
		t.Parallel()
		a := outboxtest.Action("stripe.call", rowKey, invoice)
		a.CreatedAt = a.CreatedAt.AddDate(0, 0, -2)
		_, err := send(t.Context(), a)
		require.NoError(t, err)
	})
}
