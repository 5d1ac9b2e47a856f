package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/paidonce/paidonce/go/outbox"
)

// messenger stands for the client of a provider that honours keys.
type messenger interface {
	Send(ctx context.Context, key string, body []byte) (answer json.RawMessage, err error)
}

var errNoSuchNumber = errors.New("no such number")

func refusedForGood(err error) bool { return errors.Is(err, errNoSuchNumber) }

// A worker with a sender of one's own, as it would be started from main.
func Example() {
	_ = func(ctx context.Context, pool *pgxpool.Pool, listenURL string, provider messenger) error {
		w, err := outbox.New(outbox.Options{DB: pool, ListenURL: listenURL})
		if err != nil {
			return err
		}
		w.Handle("sms.*", func(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
			answer, err := provider.Send(ctx, a.IdempotencyKey, a.Payload) // the key, and exactly these bytes
			if refusedForGood(err) {
				return nil, outbox.Permanent(err)
			}
			return answer, err // an error is tried again; outbox.RetryAfter(d, err): not before d has passed
		}, outbox.Policy{MaxAttempts: 10, KeyLife: 24 * time.Hour})
		return w.Run(ctx)
	}
}
