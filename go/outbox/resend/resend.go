// Package resend sends e-mails of the outbox through Resend. A row's payload is the body of POST /emails as
// Resend documents it ({"from", "to", "subject", "html" or "text", …}) and is sent byte for byte as stored.
//
// Resend's rules of idempotency, and what follows from them:
//
//   - A key is at most 256 characters long and is remembered for 24 hours. Within them the same request is answered
//     as before and sends nothing. So the row is never tried later than that after its first attempt: a
//     forgotten key would send the e-mail again.
//   - 409 invalid_idempotent_request: the key came with another body before. Final.
//   - 409 concurrent_idempotent_requests: the first request with the key is still being worked on. Tried again.
//
// 429 is tried again when Retry-After says; 408, 425, 5xx and no answer are tried again; every other 4xx is final.
package resend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/internal/answer"
	"github.com/paidonce/paidonce/go/outbox/internal/provider"
)

// DefaultBaseURL is where Resend's API is.
const DefaultBaseURL = "https://api.resend.com"

const (
	maxKey  = 256
	maxBody = 16 << 10
	// keyLife is shorter than Resend's 24 hours by more than an attempt can take.
	keyLife = 24*time.Hour - 15*time.Minute
	// inFlight is how long a request with the same key is given to end.
	inFlight = 2 * time.Second
	// quota is how soon a used-up quota is worth another look, where Resend does not say.
	quota = 10 * time.Minute
)

// Options configures a sender. Key is required.
type Options struct {
	Key     string        // re_…
	BaseURL string        // default DefaultBaseURL
	Timeout time.Duration // of one attempt; the worker's own when zero
}

type sender struct {
	url    string
	key    string
	client *http.Client
}

// New returns the sender and the policy it asks for, to be registered for "email.*".
func New(o Options) (outbox.Sender, outbox.Policy, error) {
	base, err := provider.BaseURL(o.BaseURL, DefaultBaseURL)
	switch {
	case strings.TrimSpace(o.Key) == "":
		return nil, outbox.Policy{}, errors.New("resend: no API key")
	case err != nil:
		return nil, outbox.Policy{}, fmt.Errorf("resend: %w", err)
	case o.Timeout < 0:
		return nil, outbox.Policy{}, errors.New("resend: the timeout cannot be negative")
	}
	s := &sender{url: base.JoinPath("emails").String(), key: strings.TrimSpace(o.Key), client: provider.Client()}
	return s.send, outbox.Policy{Timeout: o.Timeout, KeyLife: keyLife}, nil
}

func (s *sender) send(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
	if n := utf8.RuneCountInString(a.IdempotencyKey); n == 0 || n > maxKey {
		return nil, outbox.Permanent(fmt.Errorf("resend: takes keys of 1 to %d characters, not of %d", maxKey, n))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(a.Payload))
	if err != nil {
		return nil, outbox.Permanent(fmt.Errorf("resend: %w", err))
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "paidonce")
	req.Header.Set("Idempotency-Key", a.IdempotencyKey)
	res, err := s.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("resend: no answer: %w", err)
	}
	got, err := answer.Read(res, maxBody)
	if got.OK() {
		// The status has said it: the e-mail is sent, whatever becomes of the body.
		return response(got), nil
	}
	if err != nil && got.Status >= 500 {
		return nil, fmt.Errorf("resend: %d and then: %w", got.Status, err)
	}
	return nil, fault(got)
}

// fault reads Resend's error: {"name", "message"}.
func fault(got answer.Answer) error {
	var said struct {
		Name    string `json:"name"`
		Message string `json:"message"`
	}
	if json.Unmarshal(got.Body, &said) != nil || said.Name == "" {
		return got.Fault("resend")
	}
	err := fmt.Errorf("resend: %d %s: %s", got.Status, answer.Shorten(said.Name), answer.Shorten(said.Message))
	_, dated := got.RetryAfter()
	switch {
	case said.Name == "invalid_idempotent_request":
		return outbox.Permanent(fmt.Errorf("%w (this key was used for another e-mail before)", err))
	case got.Status == http.StatusConflict && !dated:
		return outbox.RetryAfter(inFlight, err)
	case strings.HasSuffix(said.Name, "_quota_exceeded") && got.Status == http.StatusTooManyRequests && !dated:
		return outbox.RetryAfter(quota, err)
	}
	return got.Judge(got.Passing(), err)
}

// response keeps the id that Resend gave the e-mail.
func response(got answer.Answer) json.RawMessage {
	var sent struct {
		Status int    `json:"status"`
		ID     string `json:"id,omitempty"`
	}
	if json.Unmarshal(got.Body, &sent) != nil {
		sent.ID = ""
	}
	sent.ID, sent.Status = answer.Shorten(sent.ID), got.Status
	text, err := json.Marshal(sent)
	if err != nil {
		return nil
	}
	return text
}
