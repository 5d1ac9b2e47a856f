package httpsender

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outboxtest"
	"github.com/paidonce/paidonce/internal/testing/fakehttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver is a server that answers 200 unless it is told otherwise.
func receiver(t *testing.T) *fakehttp.Server {
	t.Helper()
	s, err := fakehttp.Start(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("thanks")) }))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func newSender(t *testing.T, o Options) outbox.Sender {
	t.Helper()
	send, _, err := New(o)
	require.NoError(t, err)
	return send
}

const payload = `{"b": 1,  "a": "ü<&>", "n": 1.50}`

func TestSend(t *testing.T) {
	t.Parallel()

	t.Run("given a row when it is sent then its bytes go out as they are, under its key, signed", func(t *testing.T) {
		t.Parallel()
		to := receiver(t)
		at := time.Unix(1614265330, 0)
		send := newSender(t, Options{
			URL: to.URL() + "/hooks?a=b", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, plain secret", AllowPrivate: true, Now: func() time.Time { return at },
		})
		a := outboxtest.Action("http.bookkeeping", "evt_1:http.bookkeeping", payload)
		for range 2 {
			response, err := send(t.Context(), a)
			require.NoError(t, err)
			require.JSONEq(t, `{"status":200,"body":"thanks"}`, string(response))
		}

		all := to.Requests("POST", "/hooks")
		require.Len(t, all, 2)
		for _, got := range all {
			require.Equal(t, payload, got.Body)
			require.Equal(t, "b", got.Query.Get("a"))
			require.Equal(t, "http.bookkeeping", got.Header.Get("Paidonce-Action"))
			require.Equal(t, "evt_1:http.bookkeeping", got.Header.Get("Idempotency-Key"))
			require.Equal(t, "application/json", got.Header.Get("Content-Type"))
			id := got.Header.Get("webhook-id")
			require.Regexp(t, `^msg_[0-9a-f]{32}$`, id)
			require.Equal(t, "1614265330", got.Header.Get("webhook-timestamp"))
			first, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
			require.NoError(t, err)
			require.Equal(t, signature(first, id, "1614265330", []byte(payload))+" "+signature([]byte("plain secret"), id, "1614265330", []byte(payload)), got.Header.Get("webhook-signature"))
		}
		require.Equal(t, all[0].Header.Get("webhook-id"), all[1].Header.Get("webhook-id"))

		_, err := send(t.Context(), outboxtest.Action("http.bookkeeping", "evt_2:http.bookkeeping", payload))
		require.NoError(t, err)
		require.NotEqual(t, all[0].Header.Get("webhook-id"), to.Requests("POST", "/hooks")[2].Header.Get("webhook-id"))
	})

	t.Run("given the example of Standard Webhooks when it is signed then the signature is the published one", func(t *testing.T) {
		t.Parallel()
		keys, err := signingKeys("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
		require.NoError(t, err)
		require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
			signature(keys[0], "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`)))
	})

	t.Run("given no secret when it is sent then it is not signed", func(t *testing.T) {
		t.Parallel()
		to := receiver(t)
		_, err := newSender(t, Options{URL: to.URL(), AllowPrivate: true})(t.Context(), outboxtest.Action("http.a", "k", `{}`))
		require.NoError(t, err)
		require.Empty(t, to.Requests("POST", "/")[0].Header.Values("webhook-signature"))
	})
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		200: "sent", 201: "sent", 202: "sent", 204: "sent", 299: "sent",
		300: "retry", 304: "retry",
		400: "dead", 401: "dead", 403: "dead", 404: "dead", 405: "dead", 410: "dead", 413: "dead", 422: "dead",
		408: "retry", 409: "retry", 425: "retry", 429: "retry",
		500: "retry", 501: "retry", 502: "retry", 503: "retry", 504: "retry", 599: "retry",
	} {
		t.Run("given the answer "+strconv.Itoa(status)+" then "+want, func(t *testing.T) {
			t.Parallel()
			to := receiver(t)
			body := `no\u0000 ` + "\x00\xff" + strings.Repeat("long ", 1000)
			if status == 204 || status == 304 {
				body = ""
			}
			to.Break(fakehttp.Fault{Status: status, Body: body})
			response, err := newSender(t, Options{URL: to.URL(), AllowPrivate: true})(t.Context(), outboxtest.Action("http.a", "k", `{}`))
			require.Equal(t, want, outboxtest.Verdict(err), err)
			require.Less(t, len(response), 1000)
			if err != nil {
				require.Less(t, len(err.Error()), 700)
				require.NotContains(t, err.Error(), "\x00")
				require.Contains(t, err.Error(), strconv.Itoa(status))
			}
		})
	}

	for value, want := range map[string]string{
		"7":                             "retry after 7s",
		"0.5":                           "retry after 500ms",
		"99999999999":                   "retry after 720h0m0s",
		"-3":                            "retry",
		"soon":                          "retry",
		"Mon, 02 Jan 2006 15:05:05 GMT": "retry after 1m0s",
		"Mon, 02 Jan 2006 15:00:00 GMT": "retry after 0s",
	} {
		t.Run("given Retry-After "+value+" then "+want, func(t *testing.T) {
			t.Parallel()
			to := receiver(t)
			to.Break(fakehttp.Fault{Status: 503, Header: map[string]string{"Retry-After": value, "Date": "Mon, 02 Jan 2006 15:04:05 GMT"}})
			_, err := newSender(t, Options{URL: to.URL(), AllowPrivate: true})(t.Context(), outboxtest.Action("http.a", "k", `{}`))
			require.Equal(t, want, outboxtest.Verdict(err))
		})
	}

	t.Run("given a permanent refusal with Retry-After then it is final all the same", func(t *testing.T) {
		t.Parallel()
		to := receiver(t)
		to.Break(fakehttp.Fault{Status: 400, Header: map[string]string{"Retry-After": "5"}})
		_, err := newSender(t, Options{URL: to.URL(), AllowPrivate: true})(t.Context(), outboxtest.Action("http.a", "k", `{}`))
		require.Equal(t, "dead", outboxtest.Verdict(err))
	})

	for name, fault := range map[string]fakehttp.Fault{
		"the connection is cut instead of an answer": {Drop: true, Times: -1},
		"no answer comes in time":                    {Delay: time.Minute},
		"a bad answer comes with half a body":        {Status: 500, Body: "oh no", Slow: time.Minute},
	} {
		t.Run("given that "+name+" then it is tried again", func(t *testing.T) {
			t.Parallel()
			to := receiver(t)
			to.Break(fault)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			_, err := newSender(t, Options{URL: to.URL(), AllowPrivate: true})(ctx, outboxtest.Action("http.a", "k", `{}`))
			require.Equal(t, "retry", outboxtest.Verdict(err))
		})
	}

	t.Run("given a good answer whose body does not end then it is sent, soon", func(t *testing.T) {
		t.Parallel()
		to := receiver(t)
		to.Break(fakehttp.Fault{Slow: time.Minute})
		began := time.Now()
		_, err := newSender(t, Options{URL: to.URL(), AllowPrivate: true})(t.Context(), outboxtest.Action("http.a", "k", `{}`))
		require.Equal(t, "sent", outboxtest.Verdict(err))
		require.Less(t, time.Since(began), 2*bodyPatience)
	})

	t.Run("given nobody there then it is tried again and no password is told", func(t *testing.T) {
		t.Parallel()
		to := receiver(t)
		url := strings.Replace(to.URL(), "http://", "http://user:hush@", 1) + "/?token=hush"
		require.NoError(t, to.Close())
		_, err := newSender(t, Options{URL: url, AllowPrivate: true})(t.Context(), outboxtest.Action("http.a", "k", `{"secret":"hush"}`))
		require.Equal(t, "retry", outboxtest.Verdict(err))
		require.NotContains(t, err.Error(), "hush")
	})
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	elsewhere := receiver(t)
	for name, tc := range map[string]struct {
		status int
		to     string
		want   string
		posts  int // at the configured host
	}{
		"to another path, 307":        {307, "/new", "sent", 2},
		"to another path, 308":        {308, "/new", "sent", 2},
		"to another path, 302":        {302, "/new", "retry", 1},
		"to another path, 303":        {303, "/new", "retry", 1},
		"to another path, 301":        {301, "/new", "retry", 1},
		"to another host, 307":        {307, elsewhere.URL() + "/x", "retry", 1},
		"to another host, 302":        {302, elsewhere.URL() + "/x", "retry", 1},
		"to another name of the host": {307, strings.Replace(elsewhere.URL(), "127.0.0.1", "localhost", 1), "retry", 1},
		"to no http at all":           {307, "file:///etc/passwd", "retry", 1},
	} {
		t.Run("given a redirect "+name+" then "+tc.want, func(t *testing.T) {
			t.Parallel()
			at := receiver(t)
			at.Break(fakehttp.Fault{Path: "/old", Status: tc.status, Header: map[string]string{"Location": tc.to}})
			_, err := newSender(t, Options{URL: at.URL() + "/old", AllowPrivate: true, Secret: "s"})(t.Context(), outboxtest.Action("http.a", "k", payload))
			require.Equal(t, tc.want, outboxtest.Verdict(err), err)
			all := at.Requests("", "/")
			require.Len(t, all, tc.posts)
			for _, got := range all {
				require.Equal(t, "POST "+payload+" k", got.Method+" "+got.Body+" "+got.Header.Get("Idempotency-Key"))
			}
			require.Empty(t, elsewhere.Requests("", "/"))
		})
	}

	t.Run("given redirects in a circle then they end and it is tried again", func(t *testing.T) {
		t.Parallel()
		at := receiver(t)
		at.Break(fakehttp.Fault{Status: 307, Header: map[string]string{"Location": "/"}, Times: -1})
		_, err := newSender(t, Options{URL: at.URL(), AllowPrivate: true})(t.Context(), outboxtest.Action("http.a", "k", payload))
		require.Equal(t, "retry", outboxtest.Verdict(err))
		require.Len(t, at.Requests("", "/"), maxRedirects+1)
	})

	t.Run("given a redirect from https to http of the same host then it is not followed", func(t *testing.T) {
		t.Parallel()
		plain := receiver(t)
		secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL(), http.StatusTemporaryRedirect))
		t.Cleanup(secure.Close)
		roots := x509.NewCertPool()
		roots.AddCert(secure.Certificate())
		_, err := newSender(t, Options{URL: secure.URL, AllowPrivate: true, roots: &tls.Config{RootCAs: roots}})(t.Context(), outboxtest.Action("http.a", "k", payload))
		require.Equal(t, "retry", outboxtest.Verdict(err))
		require.Empty(t, plain.Requests("", "/"))
	})
}

func TestNew(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"no URL":              {},
		"a relative URL":      {URL: "/hooks"},
		"another scheme":      {URL: "ftp://example.com"},
		"no host":             {URL: "http://:80"},
		"a URL of no kind":    {URL: "http://[::1"},
		"a whsec of no base":  {URL: "http://example.com", Secret: "whsec_%%%"},
		"a whsec of nothing":  {URL: "http://example.com", Secret: "whsec_"},
		"a negative timeout":  {URL: "http://example.com", Timeout: -1},
		"one bad secret of 2": {URL: "http://example.com", Secret: "good,whsec_!"},
	} {
		t.Run("given "+name+" when a sender is made then it is refused", func(t *testing.T) {
			t.Parallel()
			_, _, err := New(o)
			require.ErrorContains(t, err, "httpsender: ")
		})
	}
}
