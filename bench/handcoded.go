package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// handcoded does in Go, statement by statement in one transaction, what the database function does in one
// call, in the same tables: claim, lock, projection, items, outbox, delivery. It is written as somebody
// would write it who cares about speed: the statements are prepared, the payload is read once, the event is
// stored as processed right away, and there is no statement that the work does not need. It spares itself
// what the function does besides: the registry of effects, the settings, and keeping failures.
type handcoded struct{ pool *pgxpool.Pool }

// stripeEvent is as much of the payload as the effect reads.
type stripeEvent struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Created    int64  `json:"created"`
	Livemode   bool   `json:"livemode"`
	APIVersion string `json:"api_version"`
	Data       struct {
		Object json.RawMessage `json:"object"`
	} `json:"data"`
}

type stripeSubscription struct {
	ID         string `json:"id"`
	Customer   string `json:"customer"`
	Status     string `json:"status"`
	Created    int64  `json:"created"`
	CancelAt   *int64 `json:"cancel_at"`
	CanceledAt *int64 `json:"canceled_at"`
	EndedAt    *int64 `json:"ended_at"`
	TrialEnd   *int64 `json:"trial_end"`
	Pause      *struct {
		Behavior string `json:"behavior"`
	} `json:"pause_collection"`
	Items struct {
		Data []stripeItem `json:"data"`
	} `json:"items"`
}

type stripeItem struct {
	ID       string `json:"id"`
	Quantity int64  `json:"quantity"`
	Start    int64  `json:"current_period_start"`
	End      int64  `json:"current_period_end"`
	Price    struct {
		ID        string  `json:"id"`
		Product   string  `json:"product"`
		LookupKey *string `json:"lookup_key"`
	} `json:"price"`
}

const (
	claimSQL = `
		insert into paidonce.events (event_id, event_type, object_id, customer_id, livemode, api_version, created, status, processed_at, payload)
		values ($1, $2, $3, $4, $5, $6, $7, 'processed', now(), $8::jsonb) on conflict (event_id) do nothing`
	lockSQL         = "select user_id from paidonce.customers where customer_id = $1 for update"
	customerSQL     = "insert into paidonce.customers (customer_id) values ($1) on conflict (customer_id) do nothing"
	subscriptionSQL = `
		insert into paidonce.subscriptions as s (subscription_id, customer_id, livemode, status, created, current_period_start, current_period_end,
			trial_end, cancel_at, canceled_at, ended_at, pause_behavior, as_of, as_of_rank, source_event, data)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16::jsonb)
		on conflict (subscription_id) do update
		set customer_id = excluded.customer_id, livemode = excluded.livemode, status = excluded.status, created = excluded.created,
			current_period_start = excluded.current_period_start, current_period_end = excluded.current_period_end, trial_end = excluded.trial_end,
			cancel_at = excluded.cancel_at, canceled_at = excluded.canceled_at, ended_at = excluded.ended_at, pause_behavior = excluded.pause_behavior,
			as_of = excluded.as_of, as_of_rank = excluded.as_of_rank, source_event = excluded.source_event, data = excluded.data,
			generation = s.generation + 1
		where (excluded.as_of, excluded.as_of_rank, excluded.source_event) > (s.as_of, s.as_of_rank, s.source_event)`
	dropItemsSQL = "delete from paidonce.subscription_items where subscription_id = $1 and item_id <> all ($2)"
	itemSQL      = `
		insert into paidonce.subscription_items (subscription_id, item_id, price_id, product_id, lookup_key, quantity, current_period_start, current_period_end)
		values ($1, $2, $3, $4, $5, $6, $7, $8)
		on conflict (subscription_id, item_id) do update
		set price_id = excluded.price_id, product_id = excluded.product_id, lookup_key = excluded.lookup_key, quantity = excluded.quantity,
			current_period_start = excluded.current_period_start, current_period_end = excluded.current_period_end`
	refetchSQL = `
		insert into paidonce.outbox (event_id, action, payload, idempotency_key, coalesce_key)
		values ($1, 'stripe.refetch', $2::jsonb, $3, $4) on conflict do nothing`
	deliverySQL = "insert into paidonce.deliveries (event_id, outcome, duration_ms) values ($1, $2, $3)"
)

func (h handcoded) take(ctx context.Context, d delivery) (string, error) {
	return h.handle(ctx, d.body)
}

func (h handcoded) handle(ctx context.Context, body string) (outcome string, err error) {
	began := time.Now()
	var e stripeEvent
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return "", err
	}
	var s stripeSubscription
	if err := json.Unmarshal(e.Data.Object, &s); err != nil {
		return "", err
	}
	err = pgx.BeginFunc(ctx, h.pool, func(tx pgx.Tx) error {
		claimed, err := tx.Exec(ctx, claimSQL, e.ID, e.Type, s.ID, s.Customer, e.Livemode, e.APIVersion, time.Unix(e.Created, 0), body)
		if err != nil {
			return err
		}
		outcome = "duplicate"
		if claimed.RowsAffected() == 1 {
			outcome = "processed"
			if err := apply(ctx, tx, e, s); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, deliverySQL, e.ID, outcome, float64(time.Since(began).Microseconds())/1000)
		return err
	})
	return outcome, err
}

func apply(ctx context.Context, tx pgx.Tx, e stripeEvent, s stripeSubscription) error {
	locked, err := tx.Exec(ctx, lockSQL, s.Customer)
	if err != nil {
		return err
	}
	if locked.RowsAffected() == 0 {
		if _, err := tx.Exec(ctx, customerSQL, s.Customer); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, lockSQL, s.Customer); err != nil {
			return err
		}
	}
	var pause *string
	if s.Pause != nil {
		pause = &s.Pause.Behavior
	}
	var from, to *time.Time
	ids := make([]string, len(s.Items.Data))
	for i, item := range s.Items.Data {
		ids[i] = item.ID
		if start, end := time.Unix(item.Start, 0), time.Unix(item.End, 0); to == nil || end.Before(*to) {
			from, to = &start, &end
		}
	}
	stated, err := tx.Exec(ctx, subscriptionSQL, s.ID, s.Customer, e.Livemode, s.Status, time.Unix(s.Created, 0), from, to,
		at(s.TrialEnd), at(s.CancelAt), at(s.CanceledAt), at(s.EndedAt), pause, time.Unix(e.Created, 0), 2, e.ID, string(e.Data.Object))
	if err != nil {
		return err
	}
	if stated.RowsAffected() == 1 {
		if _, err := tx.Exec(ctx, dropItemsSQL, s.ID, ids); err != nil {
			return err
		}
		for _, item := range s.Items.Data {
			_, err := tx.Exec(ctx, itemSQL, s.ID, item.ID, item.Price.ID, item.Price.Product, item.Price.LookupKey, item.Quantity,
				time.Unix(item.Start, 0), time.Unix(item.End, 0))
			if err != nil {
				return err
			}
		}
	}
	_, err = tx.Exec(ctx, refetchSQL, e.ID, fmt.Sprintf(`{"object":"subscription","id":%q}`, s.ID), e.ID+":stripe.refetch:"+s.ID, "refetch:"+s.ID)
	return err
}

func at(seconds *int64) *time.Time {
	if seconds == nil {
		return nil
	}
	t := time.Unix(*seconds, 0)
	return &t
}
