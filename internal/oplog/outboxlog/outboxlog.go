// Package outboxlog reads what became of outbox rows, and gives those that were given up another life.
//
// It is what the person on call looks at. The login must be the owner of schema paidonce. Payloads are never
// read: they hold what is none of the reader's business.
package outboxlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Row is an outbox row without its payload.
type Row struct {
	ID             int64      `json:"id"`
	Action         string     `json:"action"`
	Status         string     `json:"status"`
	Attempts       int        `json:"attempts"`
	IdempotencyKey string     `json:"idempotency_key"`
	EventID        *string    `json:"event_id"`
	CreatedAt      time.Time  `json:"created_at"`
	FirstAttemptAt *time.Time `json:"first_attempt_at"`
	NextAttemptAt  time.Time  `json:"next_attempt_at"`
	LeaseUntil     *time.Time `json:"lease_until"`
	SentAt         *time.Time `json:"sent_at"`
	Error          *string    `json:"error"`
}

// Filter narrows a list; what is zero does not.
type Filter struct {
	Status string
	Action string // exact, a family such as email.*, or *
	Limit  int
}

const list = `
select o.id, o.action, o.status, o.attempts, o.idempotency_key, o.event_id, o.created_at, o.first_attempt_at, o.next_attempt_at,
    o.lease_until, o.sent_at, o.error
from paidonce.outbox as o
where ($1::text = '' or o.status = $1::text)
    and ($2::text in ('', '*') or o.action = $2::text
        or ($2::text like '%.*' and starts_with(o.action, left($2::text, -1))))
order by o.id desc
limit $3::bigint`

// List returns the rows written last first.
func List(ctx context.Context, db *pgxpool.Pool, f Filter) ([]Row, error) {
	rows, err := db.Query(ctx, list, f.Status, f.Action, f.Limit)
	if err != nil {
		return nil, fmt.Errorf("list outbox rows: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Row])
	if err != nil {
		return nil, fmt.Errorf("list outbox rows: %w", err)
	}
	return all, nil
}

// Retried is what became of one row that was to be tried again.
type Retried struct {
	ID      int64  `json:"id"`
	Outcome string `json:"outcome"` // pending, joined, refused, unknown
	Error   string `json:"error,omitempty"`
}

// Done says that the row is pending now, or that another one does the same.
func (r Retried) Done() bool { return r.Outcome == "pending" || r.Outcome == "joined" }

// Retry makes a row pending again, under its key and with fresh attempts. One that was sent is refused unless
// force is set, one that a worker has is always.
func Retry(ctx context.Context, db *pgxpool.Pool, id int64, force bool) (Retried, error) {
	r := Retried{ID: id}
	var pending bool
	err := db.QueryRow(ctx, `select paidonce.requeue_outbox($1::bigint, $2::boolean)`, id, force).Scan(&pending)
	var pgErr *pgconn.PgError
	switch {
	case errors.As(err, &pgErr) && pgErr.Code == "P0002":
		r.Outcome, r.Error = "unknown", pgErr.Message
	case errors.As(err, &pgErr) && pgErr.Code == "55000":
		r.Outcome, r.Error = "refused", pgErr.Message
	case err != nil:
		return r, fmt.Errorf("retry outbox row %d: %w", id, err)
	case pending:
		r.Outcome = "pending"
	default:
		r.Outcome = "joined"
	}
	return r, nil
}

// Dead returns the ids of the rows that were given up, oldest first.
func Dead(ctx context.Context, db *pgxpool.Pool, action string) ([]int64, error) {
	rows, err := db.Query(ctx, `
		select o.id from paidonce.outbox as o
		where o.status = 'dead' and ($1::text in ('', '*') or o.action = $1::text
			or ($1::text like '%.*' and starts_with(o.action, left($1::text, -1))))
		order by o.id`, action)
	if err != nil {
		return nil, fmt.Errorf("look for dead outbox rows: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("look for dead outbox rows: %w", err)
	}
	return ids, nil
}
