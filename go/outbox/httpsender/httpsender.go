// Package httpsender sends outbox rows by HTTP: it POSTs a row's payload, byte for byte as it is stored, to
// one configured URL. One URL serves all actions; the header Paidonce-Action says which one it is.
//
// Headers, after Standard Webhooks:
//
//	Content-Type       application/json
//	Paidonce-Action    the row's action, such as http.bookkeeping
//	Idempotency-Key    the row's key: the same on every attempt, so the receiver does the work once per key
//	webhook-id         made from that key: the same on every attempt too, and without a full stop in it
//	webhook-timestamp  seconds since 1970, of this attempt
//	webhook-signature  v1,<base64 of HMAC-SHA256 over id.timestamp.body>, one per secret; absent without a secret
//
// What an answer means: 2xx is done, whatever its body. 408, 409, 425, 429, 3xx, 5xx and no answer are tried
// again, not before Retry-After (seconds or a time) says. Every other answer is final.
//
// The receiver's address is checked when the connection is made, on the address that its name has at that
// moment: loopback, private, link-local and other addresses that are not of the public internet are refused
// unless AllowPrivate is set. Redirects are followed on the same host only, only where the request stays a POST,
// and never from https to http. No proxy is used: it would hide the address.
package httpsender

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/internal/answer"
)

const (
	maxBody      = 16 << 10
	maxRedirects = 3
	// bodyPatience is how long the body of an answer is waited for. Its status has already said everything.
	bodyPatience = 2 * time.Second
)

// Options configures a sender. URL is required.
type Options struct {
	URL          string           // http or https
	Secret       string           // whsec_<base64> or any text; several, with commas between, while one replaces another; unsigned when empty
	AllowPrivate bool             // receivers on loopback, private and link-local addresses
	Timeout      time.Duration    // of one attempt; the worker's own when zero
	Now          func() time.Time // default time.Now

	roots *tls.Config // of the tests' servers
}

type sender struct {
	url    *url.URL
	keys   [][]byte
	client *http.Client
	now    func() time.Time
}

// New returns the sender and the policy it asks for, to be registered for "http.*".
func New(o Options) (outbox.Sender, outbox.Policy, error) {
	target, err := url.Parse(o.URL)
	if err != nil || (target.Scheme != "http" && target.Scheme != "https") || target.Hostname() == "" {
		return nil, outbox.Policy{}, errors.New("httpsender: the URL must be an absolute http or https URL")
	}
	if o.Timeout < 0 {
		return nil, outbox.Policy{}, errors.New("httpsender: the timeout cannot be negative")
	}
	s := &sender{url: target, now: o.Now}
	if s.now == nil {
		s.now = time.Now
	}
	if s.keys, err = signingKeys(o.Secret); err != nil {
		return nil, outbox.Policy{}, fmt.Errorf("httpsender: %w", err)
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if !o.AllowPrivate {
		dialer.Control = refusePrivate
	}
	s.client = &http.Client{
		CheckRedirect: checkRedirect,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: o.roots, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
	return s.send, outbox.Policy{Timeout: o.Timeout}, nil
}

func (s *sender) send(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url.String(), bytes.NewReader(a.Payload))
	if err != nil {
		return nil, outbox.Permanent(fmt.Errorf("http: %w", bare(err)))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "paidonce")
	req.Header.Set("Paidonce-Action", a.Name)
	req.Header.Set("Idempotency-Key", a.IdempotencyKey)
	s.sign(req.Header, a)

	res, err := s.client.Do(req)
	var refused *refusedError
	switch {
	case errors.As(err, &refused) && refused.forGood:
		return nil, outbox.Permanent(fmt.Errorf("http: %w", refused))
	case errors.As(err, &refused):
		return nil, fmt.Errorf("http: %w", refused)
	case err != nil:
		return nil, fmt.Errorf("http: no answer from %s: %w", s.url.Host, bare(err))
	}
	impatience := time.AfterFunc(bodyPatience, cancel)
	got, _ := answer.Read(res, maxBody)
	impatience.Stop()
	if !got.OK() {
		return nil, got.Fault("http: " + s.url.Host)
	}
	return response(got), nil
}

// bare takes the URL, which may hold a password or a token, out of an error of net/http.
func bare(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// response is what is kept of an answer. The body goes in as text: it is the receiver's, and may be anything.
func response(a answer.Answer) json.RawMessage {
	text, err := json.Marshal(struct {
		Status int    `json:"status"`
		Body   string `json:"body,omitempty"`
	}{a.Status, a.Text()})
	if err != nil {
		return json.RawMessage(`{"status":` + strconv.Itoa(a.Status) + `}`)
	}
	return text
}
