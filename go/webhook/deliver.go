package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The body goes as text with a cast: that works in every exec mode of pgx, and through every pooler.
const callSQL = "select public.handle_stripe_event($1::jsonb)"

// Retries are many and close together. One lost connection often means that the other idle ones of the pool
// are dead too, and each try uses up one; a clash is over as soon as the other transaction is. All of them
// together take about a second, so a database that is really down is soon answered with 503.
const (
	maxTries   = 10
	firstPause = 10 * time.Millisecond
	maxPause   = 250 * time.Millisecond
)

// decision is what handle_stripe_event returns.
type decision struct {
	Outcome   string `json:"outcome"`
	EventID   string `json:"event_id"`
	EventType string `json:"event_type"`
	Attempt   int    `json:"attempt"`
	Error     string `json:"error"`
	SQLState  string `json:"sqlstate"`
}

// deliver calls the database, again if the call clashed or its connection was lost. That is safe also when
// the lost call had committed: the next one is then a duplicate.
func (h *Handler) deliver(ctx context.Context, e event) result {
	var res result
	retries := 0
	for {
		d, err := h.call(ctx, e.body)
		if err == nil {
			res = decided(d)
			break
		}
		if retries+1 < maxTries && retryable(err) && pause(ctx, retries) {
			retries++
			h.metrics.retry()
			continue
		}
		res = unanswered(err)
		break
	}
	res.retries = retries
	if res.eventID == "" {
		res.eventID, res.eventType = e.id, e.kind
	}
	return res
}

func (h *Handler) call(ctx context.Context, body string) (decision, error) {
	var raw []byte
	if err := h.db.QueryRow(ctx, callSQL, body).Scan(&raw); err != nil {
		return decision{}, err
	}
	var d decision
	if json.Unmarshal(raw, &d) != nil {
		d = decision{} // no outcome, which is answered as an unknown one
	}
	return d, nil
}

// decided turns the database's decision into an answer. An outcome that this version does not know is never
// answered with 200: Stripe would stop, and nobody could say whether the event was taken.
func decided(d decision) result {
	res := result{
		outcome: d.Outcome, eventID: clip(d.EventID), eventType: clip(d.EventType), attempt: d.Attempt,
		sqlstate: d.SQLState, detail: d.Error,
	}
	switch d.Outcome {
	case "processed", "duplicate", "ignored", "parked":
		res.status = http.StatusOK
	case "failed":
		res.status, res.reason = http.StatusInternalServerError, "effect failed"
	default:
		res.outcome, res.status, res.reason = outcomeUnknown, http.StatusServiceUnavailable, "temporarily unavailable"
		res.detail = "handle_stripe_event returned an outcome that this version does not know: " + clip(d.Outcome)
	}
	return res
}

// unanswered turns an error that came instead of a decision into an answer.
func unanswered(err error) result {
	res := result{
		outcome: outcomeUnavailable, status: http.StatusServiceUnavailable, reason: "temporarily unavailable",
		sqlstate: sqlState(err), cause: err,
	}
	switch res.sqlstate {
	case "PO400": // raised by handle_stripe_event
		res.outcome, res.status, res.reason = outcomeRefused, http.StatusBadRequest, "body is not a Stripe event"
	case "22P02", "22P03", "22P05", "22003", "54001": // valid JSON that jsonb cannot hold: a number or a nesting beyond its limits
		res.outcome, res.status, res.reason = outcomeRefused, http.StatusBadRequest, "body cannot be stored as jsonb"
	}
	return res
}

func retryable(err error) bool {
	switch state := sqlState(err); {
	case state == "40001", state == "40P01": // serialization failure, deadlock
		return true
	case strings.HasPrefix(state, "08"), state == "57P01", state == "57P02", state == "57P03": // connection lost, server stopping or starting
		return true
	case state != "":
		return false
	}
	// What is left came from this side of the connection. Time that has run out is not worth another try.
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return false
	}
	var network net.Error
	return errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

func sqlState(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// pause waits before a retry, up to twice as long each time and at random, so that two that clashed do not
// meet again. It says false when the time is up.
func pause(ctx context.Context, retries int) bool {
	timer := time.NewTimer(rand.N(min(firstPause<<retries, maxPause)) + time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

var _ Querier = (*pgxpool.Pool)(nil)
