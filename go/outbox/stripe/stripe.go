// Package stripe sends outbox rows that call Stripe: a refund, a subscription that is to end, a credit note.
// Register it for "stripe.*"; "stripe.refetch" is another sender's (go/outbox/refetch) and more specific.
//
// A row's payload:
//
//	{
//	  "method": "POST",                       or DELETE; POST when absent
//	  "path": "/v1/refunds",
//	  "params": {"payment_intent": "pi_1"},   nested as Stripe's documentation shows them; sent form-encoded
//	  "account": "acct_1",                    a connected account, sent as Stripe-Account; optional
//	  "api_version": "2025-08-27.basil",      instead of stripe-go's own (2023-10-16); optional
//	  "stamp": false,                         see below; optional
//	  "lookup": {"path": "/v1/refunds", "params": {"payment_intent": "pi_1"}, "match": {…}}   optional
//	}
//
// Stripe's rules of idempotency for its v1 API, and what follows from them:
//
//   - The row's key is sent as Idempotency-Key with every attempt, with the same params: Stripe answers a repeated
//     key as it did the first time and does nothing again. A key that came with other params before is refused: final.
//   - Keys are forgotten some time after 24 hours: the row is never tried later than that after its first attempt. A
//     row older than that, which somebody has requeued, is looked up before it is sent.
//   - 409 while the first request with the key is still being worked on: tried again.
//   - The answer that is kept may be a 500, and is then given for ever, whether the work was done or not. So once a
//     5xx comes again, the object is looked up. If it is there, the row is sent. If it is not, the same
//     request goes out under a new key, <key>:2, then <key>:3, each after a look-up of its own. Where
//     there is no way to look, the row goes dead and says so: a new key without a look might do it twice.
//
// To be found again, what a row creates is stamped with metadata[paidonce_key] = the row's key, where Stripe's
// endpoint takes metadata ("stamp": true or false decides otherwise). Customers, charges, invoices, payment intents,
// prices, products and subscriptions are then looked up by Stripe's search, by themselves; since search
// lags behind, a 5xx is followed by a pause of a minute. For anything else "lookup" says where to look: a GET of an
// object or of a list. An object found there counts if it contains all of "match", which is the stamp when left out;
// the string {key} in params and match stands for the row's key.
//
// 429 is tried again when Retry-After says, 408, 425, 5xx and no answer too; every other 4xx is final.
package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	stripego "github.com/stripe/stripe-go/v76"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/internal/provider"
)

const (
	// keyLife is shorter than the 24 hours that Stripe promises by more than an attempt can take.
	keyLife = 24*time.Hour - 15*time.Minute
	// searchLag is how long Stripe's search may take to know a new object; documented as less than a minute.
	searchLag = time.Minute
	// mostKeys bounds how often the same request goes out under a new key.
	mostKeys = 4
)

// Options configures a sender. Key is required.
type Options struct {
	Key       string           // sk_… or rk_…
	BaseURL   string           // default Stripe's
	Timeout   time.Duration    // of one attempt; the worker's own when zero
	SearchLag time.Duration    // default one minute: pause before a look-up by search
	Now       func() time.Time // default time.Now
}

type sender struct {
	backend   stripego.Backend
	key       string
	searchLag time.Duration
	now       func() time.Time
}

// New returns the sender and the policy it asks for, to be registered for "stripe.*".
func New(o Options) (outbox.Sender, outbox.Policy, error) {
	base, err := provider.BaseURL(o.BaseURL, stripego.APIURL)
	switch {
	case strings.TrimSpace(o.Key) == "":
		return nil, outbox.Policy{}, errors.New("stripe: no API key")
	case err != nil:
		return nil, outbox.Policy{}, fmt.Errorf("stripe: %w", err)
	case o.Timeout < 0, o.SearchLag < 0:
		return nil, outbox.Policy{}, errors.New("stripe: timeout and search lag cannot be negative")
	}
	s := &sender{backend: newBackend(strings.TrimRight(base.String(), "/")), key: strings.TrimSpace(o.Key), searchLag: o.SearchLag, now: o.Now}
	if s.searchLag == 0 {
		s.searchLag = searchLag
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s.send, outbox.Policy{Timeout: o.Timeout, KeyLife: keyLife}, nil
}

func (s *sender) send(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
	c, err := readCall(a.Payload, a.IdempotencyKey)
	if err != nil {
		return nil, outbox.Permanent(fmt.Errorf("stripe: %w", err))
	}
	if s.now().Sub(a.CreatedAt) > keyLife && !a.CreatedAt.IsZero() && c.lookup != nil {
		if found, err := s.look(ctx, c); err != nil || found != nil {
			return found, err
		}
	}
	for n := 1; ; n++ {
		got := s.do(ctx, c, keyOf(a.IdempotencyKey, n))
		switch {
		case got.err == nil:
			return got.response(n, false), nil
		case c.method == http.MethodDelete && a.Attempt > 1 && got.status == http.StatusNotFound && got.code == "resource_missing":
			return got.response(n, false), nil // an earlier attempt has deleted it
		case got.status < 500:
			return nil, got.fault()
		case n == 1 && a.Attempt == 1 && !got.replayed:
			return nil, s.afterLag(c, got.fault()) // it may not have been kept: the same key again
		}

		// Perhaps a kept 5xx, which says nothing about what was done; for certain where it is a replayed one.
		switch {
		case c.lookup == nil && got.replayed:
			return nil, outbox.Permanent(fmt.Errorf("%w (Stripe has kept this answer for this key; whether the work was done is unknown: look, and give such payloads a lookup)", got.err))
		case c.lookup == nil:
			return nil, got.fault()
		}
		if found, err := s.look(ctx, c); err != nil || found != nil {
			return found, err
		}
		switch {
		case !got.replayed:
			return nil, s.afterLag(c, got.fault())
		case n == mostKeys:
			return nil, outbox.Permanent(fmt.Errorf("%w (kept under %d keys)", got.err, n))
		}
	}
}

// afterLag keeps the next attempt away until a search would find what this one has made.
func (s *sender) afterLag(c call, err error) error {
	if c.lookup != nil && c.lookup.search {
		return outbox.RetryAfter(s.searchLag, err)
	}
	return err
}
