// Package refetch asks Stripe for the current state of what events speak of: events are provisional, and what
// Stripe says when asked has the last word. It is the sender of the outbox action stripe.refetch.
//
// For each row it reads the object's generation in the database, GETs the object from Stripe outside any
// transaction, and hands the answer to paidonce.apply_snapshot together with that generation and the time that
// Stripe's answer bears in its Date header: Stripe's clock, like the events' created. If an event arrived
// meanwhile, the database says moved, and the object is fetched again.
//
// Requests are plain HTTP. The JSON goes to the database as it came, so no field is lost to a type that does not
// know it, and Stripe-Version is not sent: objects come in the account's own version, all of which the
// database reads. The one exception is the list of invoice payments, which exists since 2025-03-31.basil only.
// Lists inside an object are completed: a subscription's items, an invoice's lines and payments.
//
// An object that Stripe has deleted, {"deleted": true} or 404 resource_missing, is handed over as such.
//
// A Sender holds back: no more than Rate requests per second, and none at all while a 429 asks for a pause. Rows
// that wait for their turn do not hold up others: its policy asks for sends of its own. Rates are per
// Sender: divide by the number of processes. Trouble that may pass, a refused key included, is tried again
// for days: a row is never lost to an outage.
package refetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/internal/provider"
)

// What an Options field is when left zero. Stripe allows 100 requests per second in live mode and 25 in a sandbox.
const (
	DefaultBaseURL = "https://api.stripe.com"
	DefaultRate    = 20
	DefaultTimeout = 30 * time.Second
)

// Action is the outbox action that the Sender is for.
const Action = "stripe.refetch"

// ErrNoKey says that there is no key to ask Stripe with. The rows then wait, at most one per object.
var ErrNoKey = errors.New("refetch: no Stripe key")

// Querier is what is asked of the database, with the rights of role paidonce_worker. *pgxpool.Pool is one.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Options configures a Sender. DB and Key are required.
type Options struct {
	DB      Querier
	Key     string        // sk_… or rk_… with the right to read billing, customers, payments and products
	BaseURL string        // default DefaultBaseURL
	Rate    float64       // requests per second
	Timeout time.Duration // of one row, all pages and waiting included
}

// retries outlast an outage of days and end within five minutes after it.
var retries = outbox.Policy{MaxAttempts: 2000, BackoffBase: time.Second, BackoffCap: 5 * time.Minute, Concurrency: 8}

type sender struct {
	db     Querier
	stripe *client
}

// New returns the sender and the policy it asks for, to be registered for Action.
func New(o Options) (outbox.Sender, outbox.Policy, error) {
	if o.Rate == 0 {
		o.Rate = DefaultRate
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	base, err := provider.BaseURL(o.BaseURL, DefaultBaseURL)
	switch {
	case o.DB == nil:
		return nil, outbox.Policy{}, errors.New("refetch: no database")
	case strings.TrimSpace(o.Key) == "":
		return nil, outbox.Policy{}, ErrNoKey
	case err != nil:
		return nil, outbox.Policy{}, fmt.Errorf("refetch: %w", err)
	case !(o.Rate > 0), o.Timeout < 0:
		return nil, outbox.Policy{}, errors.New("refetch: rate and timeout cannot be negative")
	}
	s := &sender{db: o.DB, stripe: &client{
		http: provider.Client(), base: base, key: strings.TrimSpace(o.Key), limit: newLimiter(o.Rate),
	}}
	policy := retries
	policy.Timeout = o.Timeout
	return s.send, policy, nil
}

// request is a row's payload.
type request struct {
	Object  string `json:"object"`
	ID      string `json:"id"`
	Account string `json:"account"`
}

func (s *sender) send(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
	var want request
	if err := json.Unmarshal(a.Payload, &want); err != nil {
		return nil, outbox.Permanent(fmt.Errorf("refetch: the payload is not {object, id, account}: %w", err))
	}
	fetch, known := fetchers[want.Object]
	if !known || want.ID == "" {
		return nil, outbox.Permanent(fmt.Errorf("refetch: cannot fetch a %q with id %q", want.Object, want.ID))
	}
	var generation int64
	if err := s.db.QueryRow(ctx, "select paidonce.generation_of($1, $2)", want.Object, want.ID).Scan(&generation); err != nil {
		return nil, fmt.Errorf("refetch: read the generation: %w", err)
	}
	got, err := fetch(ctx, s.stripe, want)
	if err != nil {
		return nil, fmt.Errorf("refetch: %w", err)
	}
	result, err := s.apply(ctx, want, got, generation)
	if err != nil {
		return nil, fmt.Errorf("refetch: apply the answer: %w", err)
	}
	switch {
	case result == "moved":
		// The database has asked for it again already, and has taken this row back from the worker for that.
		return nil, outbox.RetryAfter(0, errors.New("refetch: an event arrived while the object was being fetched"))
	case result == "older" && a.Attempt <= skewPatience:
		// Nothing newer came in between, so Stripe's clocks differ: what is kept is stamped with a later time than
		// this answer bears. That passes.
		return nil, outbox.RetryAfter(skewPause, errors.New("refetch: the answer is dated before what is kept"))
	}
	return json.Marshal(struct {
		Result     string    `json:"result"`
		ObservedAt time.Time `json:"observed_at"`
	}{result, got.at})
}

const (
	skewPatience = 3
	skewPause    = 2 * time.Second
)
