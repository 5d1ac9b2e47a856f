// Package senders gives a worker the built-in senders that there are keys for: what is not configured is not
// registered, and its rows wait. It is what `paidonce worker` does; a worker of your own may register them beside
// its own senders.
package senders

import (
	"errors"
	"fmt"
	"strings"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/httpsender"
	"github.com/paidonce/paidonce/go/outbox/refetch"
	"github.com/paidonce/paidonce/go/outbox/resend"
	"github.com/paidonce/paidonce/go/outbox/stripe"
)

// Refetches wait for Stripe's rate inside their sender, so they have sends of their own.
const refetchesAtOnce = 4

// Config says what there is to send with. Every field may be left zero.
type Config struct {
	StripeKey   string  // for stripe.refetch and stripe.*
	StripeBase  string  // default Stripe's
	RefetchRate float64 // requests a second; default refetch.DefaultRate
	ResendKey   string  // for email.*
	ResendBase  string  // default Resend's

	HTTPURL          string // the receiver of http.*; needs HTTPSecret
	HTTPSecret       string // what its requests are signed with
	HTTPAllowPrivate bool   // the receiver may be on a loopback or private address

	Policy outbox.Policy // goes over the policies of the senders where it is not zero
}

// Register adds the senders that c configures to w and names what they are for. db is what refetches write
// their answers to.
func Register(w *outbox.Worker, db refetch.Querier, c Config) (patterns []string, err error) {
	add := func(pattern string, s outbox.Sender, p outbox.Policy, over outbox.Policy, err error) error {
		if err == nil {
			w.Handle(pattern, s, p, over)
			patterns = append(patterns, pattern)
		}
		return err
	}
	if blank(c.HTTPURL) != blank(c.HTTPSecret) {
		return nil, errors.New("senders: http.* needs both a URL (OUTBOX_HTTP_URL) and a secret (OUTBOX_HTTP_SECRET), and only one is set")
	}
	var errs []error
	if !blank(c.StripeKey) {
		s, p, err := refetch.New(refetch.Options{DB: db, Key: c.StripeKey, BaseURL: c.StripeBase, Rate: c.RefetchRate})
		p.Concurrency = refetchesAtOnce
		over := c.Policy
		over.MaxAttempts = 0 // a refetch has no effect to double; an outage must not lose it
		errs = append(errs, add(refetch.Action, s, p, over, err))
		s, p, err = stripe.New(stripe.Options{Key: c.StripeKey, BaseURL: c.StripeBase})
		errs = append(errs, add("stripe.*", s, p, c.Policy, err))
	}
	if !blank(c.ResendKey) {
		s, p, err := resend.New(resend.Options{Key: c.ResendKey, BaseURL: c.ResendBase})
		errs = append(errs, add("email.*", s, p, c.Policy, err))
	}
	if !c.HTTPAllowPrivate && httpsender.Private(strings.TrimSpace(c.HTTPURL)) {
		return nil, errors.New("senders: the URL for http.* (OUTBOX_HTTP_URL) is a loopback or private address: allow it (OUTBOX_HTTP_ALLOW_PRIVATE=true) to send there")
	}
	if !blank(c.HTTPURL) {
		s, p, err := httpsender.New(httpsender.Options{URL: strings.TrimSpace(c.HTTPURL), Secret: strings.TrimSpace(c.HTTPSecret), AllowPrivate: c.HTTPAllowPrivate})
		errs = append(errs, add("http.*", s, p, c.Policy, err))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("senders: %w", err)
	}
	return patterns, nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
