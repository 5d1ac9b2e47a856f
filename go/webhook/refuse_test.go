package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	stripe "github.com/stripe/stripe-go/v76/webhook"

	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/deliver/stripesign"
)

const anEvent = `{"id":"evt_1","type":"invoice.paid","data":{"object":{"id":"in_1"}}}`

func quote(s string) string { return fmt.Sprintf("%q", s) }

// signature is the hex value alone, for headers put together by hand.
func signature(body, secret string, at time.Time) string {
	return strings.SplitN(stripesign.Sign([]byte(body), secret, at), "=", 3)[2]
}

// Nothing in this file may reach the database: the handlers' Querier fails the test when it is called.
func TestRefusedSignatures(t *testing.T) {
	t.Parallel()
	now := time.Now()
	good := signature(anEvent, secret, now)
	at := now.Unix()
	v0 := stripe.GenerateTestSignedPayload(&stripe.UnsignedPayload{Payload: []byte(anEvent), Secret: secret, Scheme: "v0", Timestamp: now}).Header

	for _, c := range []struct {
		name    string
		headers []string
		says    string
	}{
		{"no header", nil, "no Stripe-Signature"},
		{"an empty header", []string{""}, "no Stripe-Signature"},
		{"only commas", []string{",,"}, "unreadable"},
		{"no time", []string{"v1=" + good}, "unreadable"},
		{"a time that is no number", []string{"t=abc,v1=" + good}, "unreadable"},
		{"a time beyond every calendar", []string{"t=9223372036854775807,v1=" + signature(anEvent, secret, time.Unix(1<<63-1, 0))}, "future"},
		{"an empty time", []string{"t=,v1=" + good}, "unreadable"},
		{"no v1", []string{fmt.Sprintf("t=%d", at)}, "not match"},
		{"only a v0, correctly made", []string{v0}, "not match"},
		{"a v0 and a wrong v1", []string{v0 + ",v1=00"}, "not match"},
		{"a v1 that is no hex", []string{fmt.Sprintf("t=%d,v1=zz", at)}, "not match"},
		{"an empty v1", []string{fmt.Sprintf("t=%d,v1=", at)}, "not match"},
		{"half of the right v1", []string{fmt.Sprintf("t=%d,v1=%s", at, good[:32])}, "not match"},
		{"another secret", []string{stripesign.Sign([]byte(anEvent), "whsec_other", now)}, "not match"},
		{"the empty secret", []string{stripesign.Sign([]byte(anEvent), "", now)}, "not match"},
		{"the right signature under another time", []string{fmt.Sprintf("t=%d,v1=%s", at-1, good)}, "not match"},
		{"two different times in one header", []string{fmt.Sprintf("t=%d,t=%d,v1=%s", at-1, at, good)}, "unreadable"},
		{"two header lines of different times", []string{fmt.Sprintf("t=%d,v1=00", at-1), fmt.Sprintf("t=%d,v1=%s", at, good)}, "unreadable"},
		{"an old time smuggled behind a new one", []string{fmt.Sprintf("t=%d", at), stripesign.Sign([]byte(anEvent), secret, now.Add(-time.Hour))}, "unreadable"},
	} {
		t.Run("given "+c.name+" when posted then 400", func(t *testing.T) {
			got := serve(t, newHandler(t, webhook.Options{}), unsigned(anEvent, c.headers...))
			require.Equal(t, http.StatusBadRequest, got.Status)
			require.Contains(t, got.Error, c.says)
			require.False(t, got.Received)
		})
	}
}

func TestRefusedTimes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_750_000_000, 0)
	for _, c := range []struct {
		offset    time.Duration
		tolerance time.Duration
		says      string
	}{
		{-310 * time.Second, 0, "too old"},
		{-48 * time.Hour, 0, "too old"},
		{310 * time.Second, 0, "future"},
		{time.Hour, 0, "future"},
		{-11 * time.Second, 10 * time.Second, "too old"},
		{11 * time.Second, 10 * time.Second, "future"},
	} {
		t.Run(fmt.Sprintf("given a signature %s off and tolerance %s when posted then 400", c.offset, c.tolerance), func(t *testing.T) {
			h := newHandler(t, webhook.Options{Tolerance: c.tolerance, Now: func() time.Time { return now }})
			got := serve(t, h, unsigned(anEvent, stripesign.Sign([]byte(anEvent), secret, now.Add(c.offset))))
			require.Equal(t, http.StatusBadRequest, got.Status)
			require.Contains(t, got.Error, c.says)
		})
	}
}

func TestRefusedBodies(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ name, signed, sent string }{
		{"a body changed after signing", anEvent, strings.Replace(anEvent, "in_1", "in_2", 1)},
		{"a body with one more newline than was signed", anEvent, anEvent + "\n"},
		{"line ends changed after signing", "{\n\"id\":\"evt_1\"\n}", "{\r\n\"id\":\"evt_1\"\r\n}"},
		{"a number written otherwise than signed", `{"a":1.0}`, `{"a":1}`},
		{"an escape written otherwise than signed", `{"a":"\u0041"}`, `{"a":"A"}`},
		{"an empty body under a signature of another", anEvent, ""},
	} {
		t.Run("given "+c.name+" when posted then 400", func(t *testing.T) {
			h := newHandler(t, webhook.Options{})
			got := serve(t, h, unsigned(c.sent, stripesign.Sign([]byte(c.signed), secret, time.Now())))
			require.Equal(t, http.StatusBadRequest, got.Status)
			require.Contains(t, got.Error, "signature")
		})
	}

	for _, body := range []string{
		"", " ", "null", "true", "1", `"evt_1"`, "[]", `[{"id":"evt_1"}]`, "{", `{"id":"evt_1"`, `{"id":"evt_1"} {}`, `{"id":"evt_1",}`,
		`{'id':1}`, "{\"a\":\"\n\"}", "{\"a\":\"\x00\"}", "\ufeff{}", "\x00{}", `{"a":"\u12"}`, `{"a":"\x"}`, `{"a":01}`,
		`{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
	} {
		t.Run("given the signed body "+quote(body[:min(len(body), 30)])+" when posted then 400", func(t *testing.T) {
			got := serve(t, newHandler(t, webhook.Options{}), signed(body))
			require.Equal(t, http.StatusBadRequest, got.Status)
			require.Contains(t, got.Error, "JSON object")
		})
	}

	for _, body := range []string{
		`{"paidonce":{"repaired":7},"id":"evt_1"}`, `{"id":"evt_1","paidonce":null}`, `{"id":"evt_1","p\u0061idonce":1}`, `{"a":"\u0000","paidonce":[]}`,
	} {
		t.Run("given the reserved key in "+quote(body)+" when posted then 400", func(t *testing.T) {
			got := serve(t, newHandler(t, webhook.Options{}), signed(body))
			require.Equal(t, http.StatusBadRequest, got.Status)
			require.Contains(t, got.Error, "reserved key")
		})
	}
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()

	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions, "FOO"} {
		t.Run("given method "+method+" when sent then 405 and Allow says POST", func(t *testing.T) {
			r := signed(anEvent)
			r.Method = method
			got := serve(t, newHandler(t, webhook.Options{}), r)
			require.Equal(t, http.StatusMethodNotAllowed, got.Status)
			require.Equal(t, "POST", got.Header.Get("Allow"))
		})
	}

	for _, encoding := range [][]string{{"gzip"}, {"GZIP"}, {"identity, gzip"}, {"identity", "br"}, {"deflate"}} {
		t.Run(fmt.Sprintf("given Content-Encoding %q when posted then 415 without reading the body", encoding), func(t *testing.T) {
			r := signed(anEvent)
			r.Body = unreadable{t}
			r.Header["Content-Encoding"] = encoding
			got := serve(t, newHandler(t, webhook.Options{}), r)
			require.Equal(t, http.StatusUnsupportedMediaType, got.Status)
		})
	}

	t.Run("given no signature when posted then 400 without reading the body", func(t *testing.T) {
		r := unsigned(anEvent)
		r.Body = unreadable{t}
		got := serve(t, newHandler(t, webhook.Options{}), r)
		require.Equal(t, http.StatusBadRequest, got.Status)
	})

	t.Run("given a body that breaks off when posted then 400", func(t *testing.T) {
		r := signed(anEvent)
		r.Body = breaking{}
		got := serve(t, newHandler(t, webhook.Options{}), r)
		require.Equal(t, http.StatusBadRequest, got.Status)
		require.Contains(t, got.Error, "whole")
	})
}
