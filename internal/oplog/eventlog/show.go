package eventlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Detail is one event with everything that hangs on it.
type Detail struct {
	Event      Event           `json:"event"`
	Context    *string         `json:"context"` // where the failure arose
	Deliveries []Delivery      `json:"deliveries"`
	Outbox     []OutboxRow     `json:"outbox"`
	Payload    json.RawMessage `json:"payload,omitempty"` // only when asked for
}

// Delivery is one arrival of the event.
type Delivery struct {
	ReceivedAt time.Time `json:"received_at"`
	Outcome    string    `json:"outcome"`
	Source     string    `json:"source"`
	DurationMS float64   `json:"duration_ms"`
	Error      *string   `json:"error"`
}

// OutboxRow is one action that the event's effects asked for, without its payload.
type OutboxRow struct {
	ID             int64      `json:"id"`
	Action         string     `json:"action"`
	Status         string     `json:"status"`
	Attempts       int        `json:"attempts"`
	IdempotencyKey string     `json:"idempotency_key"`
	NextAttemptAt  time.Time  `json:"next_attempt_at"`
	SentAt         *time.Time `json:"sent_at"`
	Error          *string    `json:"error"`
}

const (
	show = `
select e.event_id, e.event_type, e.object_id, e.customer_id, e.account, e.livemode, e.api_version, e.created,
    e.status, e.attempts, e.repaired, e.error, e.sqlstate, e.received_at, e.processed_at,
    (select count(*) from paidonce.deliveries as d where d.event_id = e.event_id),
    e.context, case when $2::boolean then e.payload::text end
from paidonce.events as e
where e.event_id = $1::text`

	showDeliveries = `
select d.received_at, d.outcome, d.source, d.duration_ms, d.error
from paidonce.deliveries as d
where d.event_id = $1::text
order by d.received_at, d.delivery_id`

	showOutbox = `
select o.id, o.action, o.status, o.attempts, o.idempotency_key, o.next_attempt_at, o.sent_at, o.error
from paidonce.outbox as o
where o.event_id = $1::text
order by o.created_at, o.id`
)

// Show returns one event, all from one snapshot. The payload holds what Stripe knows about a person, so it
// comes only when it is asked for.
func Show(ctx context.Context, db *pgxpool.Pool, eventID string, payload bool) (Detail, error) {
	var d Detail
	err := pgx.BeginTxFunc(ctx, db, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		var body *string
		e := &d.Event
		err := tx.QueryRow(ctx, show, eventID, payload).Scan(
			&e.EventID, &e.EventType, &e.ObjectID, &e.CustomerID, &e.Account, &e.Livemode, &e.APIVersion, &e.Created,
			&e.Status, &e.Attempts, &e.Repaired, &e.Error, &e.SQLState, &e.ReceivedAt, &e.ProcessedAt,
			&e.Deliveries, &d.Context, &body)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNotStored
		}
		if err != nil {
			return err
		}
		if body != nil {
			d.Payload = json.RawMessage(*body)
		}
		rows, err := tx.Query(ctx, showDeliveries, eventID)
		if err != nil {
			return err
		}
		if d.Deliveries, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Delivery]); err != nil {
			return err
		}
		if rows, err = tx.Query(ctx, showOutbox, eventID); err != nil {
			return err
		}
		d.Outbox, err = pgx.CollectRows(rows, pgx.RowToStructByPos[OutboxRow])
		return err
	})
	if err != nil {
		return Detail{}, fmt.Errorf("show %s: %w", eventID, err)
	}
	return d, nil
}
