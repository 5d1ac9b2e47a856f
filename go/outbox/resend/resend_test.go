package resend_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/resend"
	"github.com/paidonce/paidonce/go/outboxtest"
	"github.com/paidonce/paidonce/internal/testing/fakehttp"
	"github.com/paidonce/paidonce/internal/testing/fakeresend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	policyLife = 24*time.Hour - 15*time.Minute

	apiKey  = "re_test_hush"
	welcome = `{"to": ["ada@example.com"], "from": "shop@example.com", "html": "<b>Hi</b> & welcome", "subject": "Willkommen, Ada — ü"}`
)

func start(t *testing.T) (*fakeresend.Server, outbox.Sender) {
	t.Helper()
	to, err := fakeresend.Start(apiKey)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, to.Close()) })
	send, policy, err := resend.New(resend.Options{Key: " " + apiKey + "\n", BaseURL: to.URL() + "/"})
	require.NoError(t, err)
	require.Equal(t, policyLife, policy.KeyLife)
	return to, send
}

func TestSend(t *testing.T) {
	t.Parallel()

	t.Run("given an e-mail when it is sent twice then one goes out, byte for byte as stored", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		a := outboxtest.Action("email.welcome", "evt_1:email.welcome", welcome)
		for range 2 {
			response, err := send(t.Context(), a)
			require.NoError(t, err)
			require.JSONEq(t, `{"status":200,"id":"49a3999c-0ce1-4ea6-ab68-000000000001"}`, string(response))
		}
		require.Equal(t, []fakeresend.Email{{ID: "49a3999c-0ce1-4ea6-ab68-000000000001", Key: "evt_1:email.welcome", Body: welcome}}, to.Emails())
		require.Equal(t, "application/json", to.Requests("POST", "/emails")[0].Header.Get("Content-Type"))
	})

	for name, fault := range map[string]fakehttp.Fault{
		"the reply is lost after the e-mail went out": {Drop: true, Times: -1},
		"the reply is late after the e-mail went out": {Slow: time.Minute},
		"the request arrives late":                    {Delay: time.Minute},
		"the service is down":                         {Status: 503, Body: "down"},
	} {
		t.Run("given that "+name+" when it is tried again then one e-mail in all, the same bytes and key each time", func(t *testing.T) {
			t.Parallel()
			to, send := start(t)
			to.Break(fault)
			a := outboxtest.Action("email.welcome", "evt_1:email.welcome", welcome)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			_, err := send(ctx, a)
			cancel()
			if fault.Slow == 0 { // the status has said it
				require.Equal(t, "retry", outboxtest.Verdict(err))
			}
			to.Mend()
			_, err = send(t.Context(), a)
			require.NoError(t, err)
			require.Len(t, to.Emails(), 1)
			for _, r := range to.Requests("POST", "/emails") {
				require.Equal(t, welcome+"evt_1:email.welcome", r.Body+r.Header.Get("Idempotency-Key"))
			}
		})
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()

	t.Run("given a key used for another e-mail before then it is final and nothing goes out", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		_, err := send(t.Context(), outboxtest.Action("email.welcome", "k", welcome))
		require.NoError(t, err)
		_, err = send(t.Context(), outboxtest.Action("email.welcome", "k", strings.Replace(welcome, "Ada", "Eve", 1)))
		require.Equal(t, "dead", outboxtest.Verdict(err))
		require.ErrorContains(t, err, "409 invalid_idempotent_request")
		require.Len(t, to.Emails(), 1)
	})

	t.Run("given the first request still in flight when it is tried again then later, and one e-mail goes out", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		hold := fakehttp.NewHold()
		to.Hold(hold)
		a := outboxtest.Action("email.welcome", "k", welcome)
		var first sync.WaitGroup
		first.Go(func() { _, _ = send(t.Context(), a) })
		<-hold.Reached()
		_, err := send(t.Context(), a)
		require.Equal(t, "retry after 2s", outboxtest.Verdict(err))
		require.ErrorContains(t, err, "concurrent_idempotent_requests")
		hold.Release()
		first.Wait()
		_, err = send(t.Context(), a)
		require.NoError(t, err)
		require.Len(t, to.Emails(), 1)
	})

	t.Run("given the fake forgets a key after 24 hours when it is used again then a second e-mail: what the policy's key life prevents", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		a := outboxtest.Action("email.welcome", "k", welcome)
		for _, step := range []struct {
			later  time.Duration
			emails int
		}{{0, 1}, {policyLife, 1}, {24*time.Hour - policyLife, 2}} {
			to.Skip(step.later)
			_, err := send(t.Context(), a)
			require.NoError(t, err)
			require.Len(t, to.Emails(), step.emails)
		}
	})

	t.Run("given a key of 257 characters then it is final and never sent; 256 of more bytes are fine", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		_, err := send(t.Context(), outboxtest.Action("email.welcome", strings.Repeat("k", 257), welcome))
		require.Equal(t, "dead", outboxtest.Verdict(err))
		require.Empty(t, to.Requests("", "/"))
		_, err = send(t.Context(), outboxtest.Action("email.welcome", strings.Repeat("k", 256), welcome))
		require.NoError(t, err)
	})
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault fakehttp.Fault
		want  string
	}{
		"429 with Retry-After":        {fakehttp.Fault{Status: 429, Header: map[string]string{"Retry-After": "3"}, Body: `{"name":"rate_limit_exceeded","message":"slow"}`}, "retry after 3s"},
		"429 without Retry-After":     {fakehttp.Fault{Status: 429, Body: `{"name":"rate_limit_exceeded","message":"slow"}`}, "retry"},
		"429 for a quota":             {fakehttp.Fault{Status: 429, Body: `{"name":"daily_quota_exceeded","message":"tomorrow"}`}, "retry after 10m0s"},
		"409 of the in-flight kind":   {fakehttp.Fault{Status: 409, Header: map[string]string{"Retry-After": "9"}, Body: `{"name":"concurrent_idempotent_requests"}`}, "retry after 9s"},
		"409 of the other kind":       {fakehttp.Fault{Status: 409, Header: map[string]string{"Retry-After": "9"}, Body: `{"name":"invalid_idempotent_request"}`}, "dead"},
		"422":                         {fakehttp.Fault{Status: 422, Body: `{"name":"validation_error","message":"no such domain"}`}, "dead"},
		"403":                         {fakehttp.Fault{Status: 403, Body: `{"name":"invalid_api_key"}`}, "dead"},
		"500":                         {fakehttp.Fault{Status: 500, Body: `{"name":"application_error"}`}, "retry"},
		"502 that is not JSON":        {fakehttp.Fault{Status: 502, Body: `<html>`}, "retry"},
		"400 that is not JSON":        {fakehttp.Fault{Status: 400, Body: `<html>`}, "dead"},
		"a redirect":                  {fakehttp.Fault{Status: 302, Header: map[string]string{"Location": "/elsewhere"}}, "retry"},
		"200 that is not JSON":        {fakehttp.Fault{Status: 200, Body: `<html>`}, "sent"},
		"200 with an id of no length": {fakehttp.Fault{Status: 200, Body: `{"id":"` + strings.Repeat("x", 9000) + `"}`}, "sent"},
	} {
		t.Run("given "+name+" then "+tc.want, func(t *testing.T) {
			t.Parallel()
			to, send := start(t)
			to.Break(tc.fault)
			response, err := send(t.Context(), outboxtest.Action("email.a", "k", welcome))
			require.Equal(t, tc.want, outboxtest.Verdict(err), err)
			require.Less(t, len(response), 1000)
			require.Len(t, to.Requests("", "/"), 1)
			if err != nil {
				require.NotContains(t, err.Error(), "hush")
			}
		})
	}

	t.Run("given a wrong key when it is sent then it is final", func(t *testing.T) {
		t.Parallel()
		to, _ := start(t)
		send, _, err := resend.New(resend.Options{Key: "re_other", BaseURL: to.URL()})
		require.NoError(t, err)
		_, err = send(t.Context(), outboxtest.Action("email.a", "k", welcome))
		require.Equal(t, "dead", outboxtest.Verdict(err))
		require.ErrorContains(t, err, "401 missing_api_key")
	})
}

func TestNew(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]resend.Options{
		"no key":             {Key: " \n"},
		"a bad URL":          {Key: "re_1", BaseURL: "api.resend.com"},
		"a negative timeout": {Key: "re_1", Timeout: -1},
	} {
		t.Run("given "+name+" when a sender is made then it is refused", func(t *testing.T) {
			t.Parallel()
			_, _, err := resend.New(o)
			require.ErrorContains(t, err, "resend: ")
		})
	}
}
