// Package eventlog reads what the database remembers of every event, and runs stored events again.
//
// It is what the person on call looks at: which events came, how often, what became of them and why. The
// login must be the owner of schema paidonce; the handler's own login may read none of this.
package eventlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrNotStored says that no event of that id ever arrived.
var ErrNotStored = errors.New("no such event is stored")

// Event is a stored event without its payload. Pointers are nil where Stripe did not say.
type Event struct {
	EventID     string     `json:"event_id"`
	EventType   string     `json:"event_type"`
	ObjectID    *string    `json:"object_id"`
	CustomerID  *string    `json:"customer_id"`
	Account     *string    `json:"account"`
	Livemode    *bool      `json:"livemode"`
	APIVersion  *string    `json:"api_version"`
	Created     *time.Time `json:"created"`
	Status      string     `json:"status"`
	Attempts    int        `json:"attempts"`
	Repaired    int        `json:"repaired"`
	Error       *string    `json:"error"`
	SQLState    *string    `json:"sqlstate"`
	ReceivedAt  time.Time  `json:"received_at"`
	ProcessedAt *time.Time `json:"processed_at"`
	Deliveries  int        `json:"deliveries"`
}

// Filter narrows a list; what is zero does not.
type Filter struct {
	Status   string
	Type     string // exact, a family such as customer.subscription.*, or *
	Customer string
	Limit    int
}

// The filters are written as "not asked, or equal" so that one prepared text serves every combination; the
// limit keeps the sort by received_at on its index.
const list = `
select e.event_id, e.event_type, e.object_id, e.customer_id, e.account, e.livemode, e.api_version, e.created,
    e.status, e.attempts, e.repaired, e.error, e.sqlstate, e.received_at, e.processed_at,
    (select count(*) from paidonce.deliveries as d where d.event_id = e.event_id)
from paidonce.events as e
where ($1::text = '' or e.status = $1::text)
    and ($2::text in ('', '*') or e.event_type = $2::text
        or ($2::text like '%.*' and starts_with(e.event_type, left($2::text, -1))))
    and ($3::text = '' or e.customer_id = $3::text)
order by e.received_at desc, e.event_id desc
limit $4::bigint`

// List returns the latest events first.
func List(ctx context.Context, db *pgxpool.Pool, f Filter) ([]Event, error) {
	rows, err := db.Query(ctx, list, f.Status, f.Type, f.Customer, f.Limit)
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	events, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Event])
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	return events, nil
}

// Replayed is what handle_stripe_event said of a replay.
type Replayed struct {
	EventID   string `json:"event_id"`
	EventType string `json:"event_type"`
	Outcome   string `json:"outcome"`
	Attempt   int    `json:"attempt"`
	Error     string `json:"error,omitempty"`
	SQLState  string `json:"sqlstate,omitempty"`
}

// Applied says that the event's effects are in the database now, by this run or by an earlier one.
func (r Replayed) Applied() bool { return r.Outcome == "processed" || r.Outcome == "duplicate" }

// Replay runs a stored event again through the entry point. The signature is not looked at, so its age does
// not matter. An event that was processed stays as it is unless force is set.
func Replay(ctx context.Context, db *pgxpool.Pool, eventID string, force bool) (Replayed, error) {
	var answer string
	err := db.QueryRow(ctx, `select paidonce.replay($1::text, $2::boolean)::text`, eventID, force).Scan(&answer)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "P0002" {
		return Replayed{}, fmt.Errorf("replay %s: %w", eventID, ErrNotStored)
	}
	if err != nil {
		return Replayed{}, fmt.Errorf("replay %s: %w", eventID, err)
	}
	var r Replayed
	if err := json.Unmarshal([]byte(answer), &r); err != nil {
		return Replayed{}, fmt.Errorf("replay %s: read the answer: %w", eventID, err)
	}
	return r, nil
}

// Any says whether any event is stored; without the schema there is none.
func Any(ctx context.Context, db *pgxpool.Pool) (bool, error) {
	var exists, any bool
	if err := db.QueryRow(ctx, `select to_regclass('paidonce.events') is not null`).Scan(&exists); err != nil || !exists {
		return false, wrap("look for events", err)
	}
	err := db.QueryRow(ctx, `select exists (select from paidonce.events)`).Scan(&any)
	return any, wrap("look for events", err)
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
