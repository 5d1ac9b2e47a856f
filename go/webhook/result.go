package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/paidonce/paidonce/go/database"
)

// Outcomes of the handler's own, beside those of handle_stripe_event.
const (
	outcomeRefused     = "refused"     // not an event that may reach the database: 4xx
	outcomeUnavailable = "unavailable" // no decision from the database: 503
	outcomeUnknown     = "unknown"     // a decision that is not understood: 503
)

// retryAfter is in seconds. Stripe keeps its own schedule; others, `paidonce send` among them, look at it.
const retryAfter = 5

// result is one delivery's end: what is answered, logged and counted.
type result struct {
	status    int
	outcome   string
	reason    string // for the sender: short, and nothing of our insides
	unread    bool   // refused before the whole body was read
	eventID   string
	eventType string
	attempt   int
	retries   int
	// For the log only.
	sqlstate string
	detail   string
	cause    error
}

func refuse(status int, reason string) result {
	return result{status: status, outcome: outcomeRefused, reason: reason}
}

func refuseUnread(status int, reason string) result {
	return result{status: status, outcome: outcomeRefused, reason: reason, unread: true}
}

type answer struct {
	Received bool   `json:"received,omitempty"`
	Outcome  string `json:"outcome,omitempty"`
	Error    string `json:"error,omitempty"`
}

func (r result) write(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	a := answer{Error: r.reason}
	switch r.status {
	case http.StatusOK:
		a = answer{Received: true, Outcome: r.outcome}
	case http.StatusInternalServerError:
		a.Outcome = r.outcome
	case http.StatusServiceUnavailable:
		header.Set("Retry-After", strconv.Itoa(retryAfter))
	case http.StatusMethodNotAllowed:
		header.Set("Allow", http.MethodPost)
	}
	if r.unread {
		// Otherwise net/http waits for more of the body before it sends the answer.
		header.Set("Connection", "close")
	}
	w.WriteHeader(r.status)
	_ = json.NewEncoder(w).Encode(a) // a sender that has hung up is told nothing
}

// record writes the delivery's one log line. Nothing of the payload is in it but id and type, and those only
// once the signature was found good.
func (h *Handler) record(ctx context.Context, r result, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case r.status >= 500:
		level = slog.LevelError
	case r.status >= 400:
		level = slog.LevelWarn
	}
	if !h.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("event_id", r.eventID),
		slog.String("event_type", r.eventType),
		slog.String("outcome", r.outcome),
		slog.Int("status", r.status),
		slog.Int("attempt", r.attempt),
		slog.Duration("duration", took),
		slog.Int("retries", r.retries),
	}
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	add("reason", r.reason)
	add("sqlstate", r.sqlstate)
	add("error", r.explain())
	if r.cause != nil {
		add("hint", database.Hint(r.cause))
	}
	h.log.LogAttrs(ctx, level, "stripe delivery", attrs...)
}

// explain says what went wrong, without a server error's detail, which can quote the payload.
func (r result) explain() string {
	var pgErr *pgconn.PgError
	var refused *pgconn.ConnectError
	switch {
	case r.cause == nil:
		return database.Redact(r.detail)
	case errors.As(r.cause, &pgErr) && !errors.As(r.cause, &refused):
		return database.Redact(pgErr.Message)
	case errors.Is(r.cause, context.DeadlineExceeded):
		return "no answer from the database in time: it is slow, or every connection of the pool is busy"
	}
	return database.Redact(r.cause.Error())
}
