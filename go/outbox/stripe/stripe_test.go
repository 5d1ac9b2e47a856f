package stripe_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/stripe"
	"github.com/paidonce/paidonce/go/outboxtest"
	"github.com/paidonce/paidonce/internal/testing/fakehttp"
	"github.com/paidonce/paidonce/internal/testing/fakestripe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	apiKey   = "sk_test_hush"
	rowKey   = "evt_1:stripe.invoice"
	invoice  = `{"method": "POST", "path": "/v1/invoices", "params": {"customer": "cus_1", "auto_advance": false, "days_until_due": 7}}`
	refund   = `{"path": "/v1/refunds", "params": {"payment_intent": "pi_1", "amount": 500}}`
	looked   = `{"path": "/v1/refunds", "params": {"payment_intent": "pi_1"}, "lookup": {"path": "/v1/refunds", "params": {"payment_intent": "pi_1"}}}`
	cancel   = `{"path": "/v1/subscriptions/sub_1", "params": {"cancel_at_period_end": true}, "lookup": {"path": "/v1/subscriptions/sub_1", "match": {"cancel_at_period_end": true}}}`
	blind    = `{"path": "/v1/subscriptions/sub_1", "params": {"cancel_at_period_end": true}}`
	endNow   = `{"method": "DELETE", "path": "/v1/subscriptions/sub_1"}`
	onBehalf = `{"path": "/v1/customers", "params": {"email": "a@example.com"}, "account": "acct_1", "api_version": "2025-08-27.basil"}`
)

func start(t *testing.T) (*fakestripe.Server, outbox.Sender) {
	t.Helper()
	to, err := fakestripe.Start(apiKey)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, to.Close()) })
	to.Put("", fakestripe.Object{"object": "subscription", "id": "sub_1", "cancel_at_period_end": false})
	send, policy, err := stripe.New(stripe.Options{Key: apiKey, BaseURL: to.URL() + "/"})
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour-15*time.Minute, policy.KeyLife)
	return to, send
}

// attempt is the nth attempt at a row that calls Stripe.
func attempt(n int, payload string) outbox.Action {
	a := outboxtest.Action("stripe.call", rowKey, payload)
	a.Attempt = n
	return a
}

func TestSend(t *testing.T) {
	t.Parallel()

	t.Run("given a call when it is sent then it is form-encoded, keyed, stamped and done once", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		for range 2 {
			response, err := send(t.Context(), attempt(1, invoice))
			require.NoError(t, err)
			require.Contains(t, string(response), `"object":"invoice"`)
		}
		require.Len(t, to.Effects(), 1)
		for _, r := range to.Requests("POST", "/v1/invoices") {
			require.Equal(t, "auto_advance=false&customer=cus_1&days_until_due=7&metadata[paidonce_key]=evt_1%3Astripe.invoice", r.Body)
			require.Equal(t, rowKey, r.Header.Get("Idempotency-Key"))
			require.Equal(t, "2023-10-16", r.Header.Get("Stripe-Version"))
			require.Empty(t, r.Header.Values("Stripe-Account"))
			require.Empty(t, r.Header.Values("X-Stripe-Client-Telemetry"))
		}
	})

	t.Run("given a connected account and a version when it is sent then both are said", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		_, err := send(t.Context(), attempt(1, onBehalf))
		require.NoError(t, err)
		r := to.Requests("POST", "/v1/customers")[0]
		require.Equal(t, "acct_1 2025-08-27.basil", r.Header.Get("Stripe-Account")+" "+r.Header.Get("Stripe-Version"))
		require.Equal(t, "acct_1", to.Effects()[0].Account)
	})

	for name, fault := range map[string]fakehttp.Fault{
		"the reply is lost after the work": {Drop: true, Times: -1},
		"the reply does not arrive whole":  {Slow: time.Minute},
		"the request arrives late":         {Delay: time.Minute},
		"the service is down":              {Status: 503, Body: "<html>"},
	} {
		t.Run("given that "+name+" when it is tried again then one effect, the same key and bytes each time", func(t *testing.T) {
			t.Parallel()
			to, send := start(t)
			to.Break(fault)
			ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
			_, err := send(ctx, attempt(1, refund))
			stop()
			require.Equal(t, "retry", outboxtest.Verdict(err), err)
			to.Mend()
			_, err = send(t.Context(), attempt(2, refund))
			require.NoError(t, err)
			require.Len(t, to.Effects(), 1)
			for _, r := range to.Requests("POST", "/v1/refunds") {
				require.Equal(t, rowKey+" amount=500&metadata[paidonce_key]=evt_1%3Astripe.invoice&payment_intent=pi_1", r.Header.Get("Idempotency-Key")+" "+r.Body)
			}
		})
	}

	t.Run("given the first request still in flight when it is tried again then later, and one effect", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		hold := fakehttp.NewHold()
		to.Hold(hold)
		var first sync.WaitGroup
		first.Go(func() { _, _ = send(t.Context(), attempt(1, refund)) })
		<-hold.Reached()
		_, err := send(t.Context(), attempt(2, refund))
		require.Equal(t, "retry", outboxtest.Verdict(err))
		require.ErrorContains(t, err, "409 idempotency_error idempotency_key_in_use")
		hold.Release()
		first.Wait()
		_, err = send(t.Context(), attempt(3, refund))
		require.NoError(t, err)
		require.Len(t, to.Effects(), 1)
	})

	t.Run("given a key that came with other params before then it is final", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		_, err := send(t.Context(), attempt(1, refund))
		require.NoError(t, err)
		_, err = send(t.Context(), attempt(1, strings.Replace(refund, "500", "600", 1)))
		require.Equal(t, "dead", outboxtest.Verdict(err))
		require.ErrorContains(t, err, "other params")
		require.Len(t, to.Effects(), 1)
	})

	t.Run("given a deletion that was done and whose reply was lost when it is tried again then it is sent", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		to.Break(fakehttp.Fault{Drop: true})
		_, err := send(t.Context(), attempt(1, endNow))
		require.Equal(t, "retry", outboxtest.Verdict(err))
		_, err = send(t.Context(), attempt(2, endNow))
		require.NoError(t, err)
		require.Len(t, to.Effects(), 1)
		_, err = send(t.Context(), attempt(1, endNow))
		require.Equal(t, "dead", outboxtest.Verdict(err), "the first attempt at something that is not there")
	})
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	said := func(kind, code string) string {
		return `{"error":{"type":"` + kind + `","code":"` + code + `","message":"no: sk_test_hush"}}`
	}
	for name, tc := range map[string]struct {
		fault fakehttp.Fault
		want  string
	}{
		"400":                   {fakehttp.Fault{Status: 400, Body: said("invalid_request_error", "parameter_unknown")}, "dead"},
		"401":                   {fakehttp.Fault{Status: 401, Body: said("invalid_request_error", "")}, "dead"},
		"402":                   {fakehttp.Fault{Status: 402, Body: said("card_error", "card_declined")}, "dead"},
		"403":                   {fakehttp.Fault{Status: 403, Body: said("invalid_request_error", "")}, "dead"},
		"404":                   {fakehttp.Fault{Status: 404, Body: said("invalid_request_error", "resource_missing")}, "dead"},
		"404 that is not JSON":  {fakehttp.Fault{Status: 404, Body: "<html>"}, "dead"},
		"409 in flight":         {fakehttp.Fault{Status: 409, Body: said("idempotency_error", "idempotency_key_in_use")}, "retry"},
		"424, to be retried":    {fakehttp.Fault{Status: 424, Header: map[string]string{"Stripe-Should-Retry": "true"}, Body: said("api_error", "")}, "retry"},
		"429 with Retry-After":  {fakehttp.Fault{Status: 429, Header: map[string]string{"Retry-After": "2"}, Body: said("invalid_request_error", "rate_limit")}, "retry after 2s"},
		"429 for a lock":        {fakehttp.Fault{Status: 429, Body: said("invalid_request_error", "lock_timeout")}, "retry"},
		"500":                   {fakehttp.Fault{Status: 500, Body: said("api_error", "")}, "retry"},
		"502 that is not JSON":  {fakehttp.Fault{Status: 502, Body: "<html>", Header: map[string]string{"Retry-After": "4"}}, "retry after 4s"},
		"a redirect":            {fakehttp.Fault{Status: 307, Header: map[string]string{"Location": "/v1/charges"}}, "retry"},
		"200 that is not JSON":  {fakehttp.Fault{Status: 200, Body: "<html>"}, "retry"},
		"200 that is no object": {fakehttp.Fault{Status: 200, Body: "[]"}, "retry"},
	} {
		t.Run("given "+name+" then "+tc.want, func(t *testing.T) {
			t.Parallel()
			to, send := start(t)
			to.Break(tc.fault)
			_, err := send(t.Context(), attempt(1, refund))
			require.Equal(t, tc.want, outboxtest.Verdict(err), err)
			require.Len(t, to.Requests("", "/"), 1)
			require.NotContains(t, err.Error(), "hush")
		})
	}
}

func TestPayloads(t *testing.T) {
	t.Parallel()
	for name, payload := range map[string]string{
		"no JSON":                       `{`,
		"no object":                     `[]`,
		"a field that nobody knows":     `{"path": "/v1/refunds", "acount": "acct_1"}`,
		"another method":                `{"method": "GET", "path": "/v1/refunds"}`,
		"no path":                       `{}`,
		"a path elsewhere":              `{"path": "https://evil.example/v1/refunds"}`,
		"a path of another API":         `{"path": "/v2/core/events"}`,
		"a path with a query":           `{"path": "/v1/refunds?x=1"}`,
		"a path that climbs":            `{"path": "/v1/../oauth/token"}`,
		"a path with an escape":         `{"path": "/v1/%2e%2e/x"}`,
		"a look-up without a match":     `{"path": "/v1/subscriptions/sub_1", "lookup": {"path": "/v1/subscriptions/sub_1"}}`,
		"a look-up elsewhere":           `{"path": "/v1/refunds", "lookup": {"path": "http://x/"}}`,
		"metadata that are no object":   `{"path": "/v1/refunds", "params": {"metadata": "x"}}`,
		"something after the first one": `{"path": "/v1/refunds"} {}`,
	} {
		t.Run("given "+name+" as payload when it is sent then it is final and nothing goes out", func(t *testing.T) {
			t.Parallel()
			to, send := start(t)
			_, err := send(t.Context(), attempt(1, payload))
			require.Equal(t, "dead", outboxtest.Verdict(err))
			require.Empty(t, to.Requests("", "/"))
		})
	}

	for name, tc := range map[string]struct{ payload, body string }{
		"nested params": {
			`{"path": "/v1/subscriptions", "stamp": false, "params": {"items": [{"price": "p 1", "quantity": 2}, {"price": "p2"}], "trial_end": null, "expand": [], "a": {"b": {"c": 1.50}}}}`,
			"a[b][c]=1.50&expand=&items[0][price]=p+1&items[0][quantity]=2&items[1][price]=p2&trial_end=",
		},
		"metadata of its own":        {`{"path": "/v1/refunds", "params": {"metadata": {"order": "7"}}}`, "metadata[order]=7&metadata[paidonce_key]=evt_1%3Astripe.invoice"},
		"a stamp of its own":         {`{"path": "/v1/refunds", "params": {"metadata": {"paidonce_key": "mine"}}}`, "metadata[paidonce_key]=mine"},
		"no stamp wanted":            {`{"path": "/v1/refunds", "stamp": false, "params": {"charge": "ch_1"}}`, "charge=ch_1"},
		"an update":                  {`{"path": "/v1/customers/cus_1", "stamp": false, "params": {"name": "Ada & Co"}}`, "name=Ada+%26+Co"},
		"an endpoint without a list": {`{"path": "/v1/billing_portal/sessions", "params": {"customer": "cus_1"}}`, "customer=cus_1"},
	} {
		t.Run("given "+name+" when it is sent then its form is as expected", func(t *testing.T) {
			t.Parallel()
			to, send := start(t)
			_, _ = send(t.Context(), attempt(1, tc.payload))
			require.Equal(t, tc.body, to.Requests("POST", "/")[0].Body)
		})
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]stripe.Options{
		"no key":                {Key: " "},
		"a bad URL":             {Key: "sk", BaseURL: "api.stripe.com"},
		"a negative timeout":    {Key: "sk", Timeout: -1},
		"a negative search lag": {Key: "sk", SearchLag: -1},
	} {
		t.Run("given "+name+" when a sender is made then it is refused", func(t *testing.T) {
			t.Parallel()
			_, _, err := stripe.New(o)
			require.ErrorContains(t, err, "stripe: ")
		})
	}
}
