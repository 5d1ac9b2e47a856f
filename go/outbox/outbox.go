// Package outbox is the worker that sends what effects have asked for: rows of paidonce.outbox, each at least
// once, always under one idempotency key and with the same bytes.
//
// A worker claims due rows in a short transaction, under a lease and a fencing token; hands each to the Sender
// that is registered for its action, outside any transaction; and writes down what became of it, which the
// database only takes while the token still fits. A worker that is killed loses nothing: its leases run out
// and another one sends those rows again, under the same keys.
//
// Each pattern has sends of its own, so that a receiver that hangs holds up its own rows alone.
//
//	w, err := outbox.New(outbox.Options{DB: pool, ListenURL: url})
//	w.Handle("email.welcome", func(ctx context.Context, a outbox.Action) (json.RawMessage, error) { … })
//	err = w.Run(ctx) // until ctx ends
//
// Polling is the truth: LISTEN only makes the next poll come sooner, and every row is found without it.
package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Action is one attempt at one outbox row.
type Action struct {
	ID             int64
	EventID        string // the event whose effect asked for it; "" where none did
	Name           string // such as email.welcome
	Payload        json.RawMessage
	IdempotencyKey string
	Attempt        int // 1 for the first
	FirstAttemptAt time.Time
	CreatedAt      time.Time
}

// Sender does one action. A nil error means that it is done; the response, if any, is kept in the row, cut
// short. Any error means that it is tried again later, unless it comes from Permanent.
//
// A Sender must send the action's key and exactly its payload each time, must give up when ctx ends, and must
// not put the payload into its error, which is stored and logged.
type Sender func(ctx context.Context, a Action) (response json.RawMessage, err error)

// Permanent marks an error that no further attempt can mend: the row goes dead at once.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

// RetryAfter marks an error after which the row is not tried again before d has passed.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return retryAfterError{err, d}
}

type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

type retryAfterError struct {
	error
	after time.Duration
}

func (e retryAfterError) Unwrap() error { return e.error }

func isPermanent(err error) bool {
	var p permanentError
	return errors.As(err, &p)
}

// retryAfter is how long err asks to wait; it may ask for nothing.
func retryAfter(err error) time.Duration {
	var r retryAfterError
	if !errors.As(err, &r) {
		return 0
	}
	return min(max(r.after, 0), maxRetryAfter)
}
