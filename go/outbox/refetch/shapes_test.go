package refetch_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-mock/embedded"
	"github.com/stripe/stripe-mock/server"

	"github.com/paidonce/paidonce/go/outbox/refetch"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// TestShapes lets Stripe's own mock, which knows every endpoint and parameter of the API, judge what is asked,
// and the database take what it answers: objects in the shape of today's API.
func TestShapes(t *testing.T) {
	t.Parallel()
	spec, err := server.LoadSpec(embedded.OpenAPISpec, "")
	require.NoError(t, err)
	fixtures, err := server.LoadFixtures(embedded.OpenAPIFixtures, "")
	require.NoError(t, err)
	stub, err := server.NewStubServer(fixtures, spec, false, false)
	require.NoError(t, err)
	var mu sync.Mutex
	asked := map[string]int{}
	mock := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := httptest.NewRecorder()
		stub.HandleRequest(seen, r)
		mu.Lock()
		asked[r.URL.Path] = seen.Code
		mu.Unlock()
		body := goOn(t, seen.Body.Bytes(), r.URL.Query().Get("starting_after") == "")
		w.WriteHeader(seen.Code)
		_, _ = w.Write(body)
	}))
	t.Cleanup(mock.Close)
	db := pgtest.New(t)
	send, _, err := refetch.New(refetch.Options{DB: db.Pool, Key: "sk_test_123", BaseURL: mock.URL, Rate: 1000})
	require.NoError(t, err)

	for _, kind := range refetch.Kinds() {
		t.Run("given a "+kind+" when stripe-mock is asked for it then it knows the request, and the database takes the answer", func(t *testing.T) {
			id := map[string]string{"invoice_payment_list": "pi_1"}[kind]
			if id == "" {
				id = "x_1"
			}
			_, err := send(t.Context(), row(kind, id, ""))
			require.NoError(t, err)
		})
	}
	for _, path := range []string{"/v1/subscription_items", "/v1/invoices/x_1/lines", "/v1/invoice_payments", "/v1/entitlements/active_entitlements"} {
		require.Equal(t, http.StatusOK, asked[path], path)
	}
}

// goOn makes the lists of a first answer go on, so that their next pages are asked for.
func goOn(t *testing.T, body []byte, first bool) []byte {
	var o map[string]any
	if err := json.Unmarshal(body, &o); err != nil {
		return body
	}
	for _, inner := range []any{o, o["items"], o["lines"]} {
		if list, ok := inner.(map[string]any); ok && list["object"] == "list" {
			data, _ := list["data"].([]any)
			list["has_more"] = first && len(data) > 0
		}
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Error(err)
	}
	return text
}
