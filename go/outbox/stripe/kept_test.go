package stripe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outboxtest"
	"github.com/paidonce/paidonce/internal/testing/fakehttp"
	"github.com/paidonce/paidonce/internal/testing/fakestripe"
)

// keys are the idempotency keys of all POSTs, in their order.
func keys(s *fakestripe.Server) string {
	var all []string
	for _, r := range s.Requests("POST", "/") {
		all = append(all, r.Header.Get("Idempotency-Key"))
	}
	return strings.Join(all, " ")
}

func TestKept500(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		payload string
		pause   string // after the first attempt
	}{
		"found by search": {invoice, "retry after 1m0s"},
		"found in a list": {looked, "retry"},
		"found by a GET":  {cancel, "retry"},
	} {
		t.Run("given a 500 that is kept though the work was done, "+name+", when it is tried again then it is sent and nothing is done twice", func(t *testing.T) {
			t.Parallel()
			to, send := start(t)
			to.Break(fakehttp.Fault{Method: "POST", Note: fakestripe.KeepDone})
			_, err := send(t.Context(), attempt(1, tc.payload))
			require.Equal(t, tc.pause, outboxtest.Verdict(err))
			response, err := send(t.Context(), attempt(2, tc.payload))
			require.NoError(t, err)
			require.Contains(t, string(response), `"found":true`)
			require.Len(t, to.Effects(), 1)
			require.Equal(t, rowKey+" "+rowKey, keys(to))
		})

		t.Run("given a 500 that is kept and the work was not done, "+name+", when it is tried again then it is done once, under a new key", func(t *testing.T) {
			t.Parallel()
			to, send := start(t)
			to.Break(fakehttp.Fault{Method: "POST", Note: fakestripe.KeepUndone})
			_, err := send(t.Context(), attempt(1, tc.payload))
			require.Equal(t, tc.pause, outboxtest.Verdict(err))
			response, err := send(t.Context(), attempt(2, tc.payload))
			require.NoError(t, err)
			require.Contains(t, string(response), `"key":2`)
			require.Len(t, to.Effects(), 1)
			require.Equal(t, rowKey+" "+rowKey+" "+rowKey+":2", keys(to))
		})
	}

	t.Run("given a second 500 under the new key when it is tried again then it is looked up again, and the third key does it", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		to.Break(fakehttp.Fault{Method: "POST", Note: fakestripe.KeepUndone})
		_, err := send(t.Context(), attempt(1, looked))
		require.Error(t, err)
		to.Break(fakehttp.Fault{Method: "POST"}) // the replay
		to.Break(fakehttp.Fault{Method: "POST", Note: fakestripe.KeepUndone})
		_, err = send(t.Context(), attempt(2, looked))
		require.Equal(t, "retry", outboxtest.Verdict(err))
		_, err = send(t.Context(), attempt(3, looked))
		require.NoError(t, err)
		require.Len(t, to.Effects(), 1)
		require.True(t, strings.HasSuffix(keys(to), rowKey+" "+rowKey+":2 "+rowKey+":3"), keys(to))
	})

	t.Run("given a second 500 under the new key that did do the work when it is tried again then it is found", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		to.Break(fakehttp.Fault{Method: "POST", Note: fakestripe.KeepUndone})
		_, err := send(t.Context(), attempt(1, looked))
		require.Error(t, err)
		to.Break(fakehttp.Fault{Method: "POST"})
		to.Break(fakehttp.Fault{Method: "POST", Note: fakestripe.KeepDone})
		response, err := send(t.Context(), attempt(2, looked))
		require.NoError(t, err)
		require.Contains(t, string(response), `"found":true`)
		require.Len(t, to.Effects(), 1)
	})

	t.Run("given a 500 that is kept and no way to look when it is tried again then it is final, under no second key", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		to.Break(fakehttp.Fault{Method: "POST", Note: fakestripe.KeepDone})
		_, err := send(t.Context(), attempt(1, blind))
		require.Equal(t, "retry", outboxtest.Verdict(err))
		_, err = send(t.Context(), attempt(2, blind))
		require.Equal(t, "dead", outboxtest.Verdict(err))
		require.ErrorContains(t, err, "lookup")
		require.Len(t, to.Effects(), 1)
		require.Equal(t, rowKey+" "+rowKey, keys(to))
	})

	t.Run("given a 500 that was not kept when it is tried again then the same key does it", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		to.Break(fakehttp.Fault{Method: "POST", Status: 500, Body: `{"error":{"type":"api_error"}}`, Times: 3})
		for n := 1; n <= 3; n++ {
			_, err := send(t.Context(), attempt(n, looked))
			require.Equal(t, "retry", outboxtest.Verdict(err))
		}
		_, err := send(t.Context(), attempt(4, looked))
		require.NoError(t, err)
		require.Len(t, to.Effects(), 1)
		require.NotContains(t, keys(to), ":2")
	})

	t.Run("given a 500 under every key when it is tried to the end then it is final", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		to.Break(fakehttp.Fault{Method: "POST", Note: fakestripe.KeepUndone, Times: -1})
		var err error
		for n := 1; n < 20 && outboxtest.Verdict(err) != "dead"; n++ {
			_, err = send(t.Context(), attempt(n, looked))
		}
		require.Equal(t, "dead", outboxtest.Verdict(err))
		require.Contains(t, keys(to), ":4")
		require.NotContains(t, keys(to), ":5")
	})

	for name, tc := range map[string]struct {
		fault fakehttp.Fault
		want  string
	}{
		"fails":           {fakehttp.Fault{Method: "GET", Status: 500}, "retry"},
		"is not allowed":  {fakehttp.Fault{Method: "GET", Status: 403, Body: `{"error":{"type":"invalid_request_error"}}`}, "dead"},
		"must wait":       {fakehttp.Fault{Method: "GET", Status: 429, Header: map[string]string{"Retry-After": "5"}}, "retry after 5s"},
		"is cut off":      {fakehttp.Fault{Method: "GET", Drop: true, Times: -1}, "retry"},
		"does not finish": {fakehttp.Fault{Method: "GET", Status: 200, Body: `{"object":"list","data":[],"has_more":true}`}, "dead"},
	} {
		t.Run("given a kept 500 and a look-up that "+name+" then "+tc.want+", and no new key", func(t *testing.T) {
			t.Parallel()
			to, send := start(t)
			to.Break(fakehttp.Fault{Method: "POST", Note: fakestripe.KeepDone})
			_, err := send(t.Context(), attempt(1, looked))
			require.Error(t, err)
			to.Break(tc.fault)
			_, err = send(t.Context(), attempt(2, looked))
			require.Equal(t, tc.want, outboxtest.Verdict(err), err)
			require.NotContains(t, keys(to), ":2")
		})
	}

	t.Run("given a row older than keys live, requeued, when it is sent then it is looked up first", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		_, err := send(t.Context(), attempt(1, invoice))
		require.NoError(t, err)
		to.Skip(25 * time.Hour) // the key is forgotten
		a := attempt(1, invoice)
		a.CreatedAt = a.CreatedAt.Add(-25 * time.Hour)
		response, err := send(t.Context(), a)
		require.NoError(t, err)
		require.Contains(t, string(response), `"found":true`)
		require.Len(t, to.Effects(), 1)
	})

	t.Run("given a key that leaves no room for more when a new one is needed then it fits", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		a := outboxtest.Action("stripe.call", strings.Repeat("k", 255), looked)
		to.Break(fakehttp.Fault{Method: "POST", Note: fakestripe.KeepUndone})
		for a.Attempt = 1; a.Attempt <= 2; a.Attempt++ {
			_, _ = send(t.Context(), a)
		}
		require.Len(t, to.Effects(), 1)
		require.Regexp(t, `^[0-9a-f]{64}:2$`, to.Effects()[0].Key)
	})

	t.Run("given an e-mail address with a quote in the key when it is searched for then the query is quoted", func(t *testing.T) {
		t.Parallel()
		to, send := start(t)
		a := outboxtest.Action("stripe.call", `k'x\`, invoice)
		to.Break(fakehttp.Fault{Method: "POST", Note: fakestripe.KeepDone})
		for a.Attempt = 1; a.Attempt <= 2; a.Attempt++ {
			_, _ = send(t.Context(), a)
		}
		require.Equal(t, `metadata['paidonce_key']:'k\'x\\'`, to.Requests("GET", "/v1/invoices/search")[0].Query.Get("query"))
	})
}
