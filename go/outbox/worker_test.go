package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestWorker(t *testing.T) {
	t.Parallel()

	t.Run("given 500 rows when 5 workers send them then each key is sent once and its answer is kept", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		var s sent
		var workers []*working
		for range 5 {
			workers = append(workers, start(t, db, outbox.Options{Batch: 7, Concurrency: 3}, func(w *outbox.Worker) { w.Handle("test.*", s.accept) }))
		}
		askMany(t, db, "test.a", 500)
		eventually(t, "all are sent", allSent(t, db))
		require.Len(t, s.keys(), 500)
		require.Len(t, s.list(), 500)
		require.EqualValues(t, 500, count(t, db, `attempts = 1 and lease_until is null and sent_at is not null and error is null and response = '{"ok": true}'`))
		total := 0.0
		for _, w := range workers {
			require.NoError(t, w.stop(t))
			total += w.metric(t, "paidonce_outbox_attempts_total", "sent")
		}
		require.EqualValues(t, 500, total)
	})

	t.Run("given a login with the rights of paidonce_worker alone when it works then it sends and counts what waits", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		ask(t, db, "email.a", "k1")
		ask(t, db, "other.a", "k2")
		var s sent
		r := start(t, db, outbox.Options{DB: pool(t, workerURL(t, db))}, func(w *outbox.Worker) { w.Handle("email.*", s.accept) })
		eventually(t, "it is sent", func() bool { return count(t, db, "status = 'sent'") == 1 })
		eventually(t, "the gauges are set", func() bool { return r.metric(t, "paidonce_outbox_rows", "pending") >= 1 })
		require.Positive(t, r.metric(t, "paidonce_outbox_oldest_pending_seconds"))
		require.Zero(t, r.metric(t, "paidonce_outbox_database_errors_total"))
	})

	t.Run("given an attempt when it is handed to the sender then it has all of the row, and the payload has the same bytes each time", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		db.Exec(t, `select paidonce.enqueue('{"id": "evt_1"}', 'email.welcome', '{"b": 1.10, "a": "ü\n€", "n": 12345678901234567890}')`)
		var s sent
		start(t, db, outbox.Options{}, func(w *outbox.Worker) {
			w.Handle("email.welcome", func(_ context.Context, a outbox.Action) (json.RawMessage, error) {
				if s.add(a) < 3 {
					return nil, errors.New("not yet")
				}
				return nil, nil
			})
		})
		eventually(t, "it is sent", allSent(t, db))
		first := s.list()[0]
		require.Equal(t, "evt_1", first.EventID)
		require.Equal(t, "email.welcome", first.Name)
		require.Equal(t, "evt_1:email.welcome", first.IdempotencyKey)
		require.Equal(t, pgtest.One[string](t, db, "select payload::text from paidonce.outbox"), string(first.Payload))
		require.WithinDuration(t, time.Now(), first.CreatedAt, time.Minute)
		for i, a := range s.list() {
			require.Equal(t, i+1, a.Attempt)
			require.Equal(t, string(first.Payload), string(a.Payload))
			require.Equal(t, first.IdempotencyKey, a.IdempotencyKey)
			require.Equal(t, first.FirstAttemptAt, a.FirstAttemptAt)
		}
	})

	t.Run("given patterns that overlap and a row that none fits when rows come then the most specific one gets each, and the last is not touched", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		ask(t, db, "stripe.refetch", "exact")
		ask(t, db, "stripe.refund.full", "longer")
		ask(t, db, "stripe.note", "family")
		ask(t, db, "striper.note", "other")
		var exact, longer, family sent
		start(t, db, outbox.Options{}, func(w *outbox.Worker) {
			w.Handle("stripe.*", family.accept)
			w.Handle("stripe.refetch", exact.accept)
			w.Handle("stripe.refund.*", longer.accept)
		})
		eventually(t, "three are sent", func() bool { return count(t, db, "status = 'sent'") == 3 })
		require.Equal(t, map[string]int{"exact": 1}, exact.keys())
		require.Equal(t, map[string]int{"longer": 1}, longer.keys())
		require.Equal(t, map[string]int{"family": 1}, family.keys())
		require.EqualValues(t, 1, count(t, db, "action = 'striper.note' and attempts = 0 and lease_token is null"))
	})

	t.Run("given a sender with a concurrency of its own that is stuck in a crowd of rows when others come then they are sent, and the crowd is never more than its share", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		askMany(t, db, "stripe.refetch", 300)
		askMany(t, db, "stripe.note", 5)
		askMany(t, db, "email.a", 5)
		var free sent
		var crowd meter
		gate := make(chan struct{})
		start(t, db, outbox.Options{Concurrency: 2}, func(w *outbox.Worker) {
			w.Handle("stripe.refetch", func(context.Context, outbox.Action) (json.RawMessage, error) {
				defer crowd.enter()()
				<-gate
				return nil, nil
			}, outbox.Policy{Concurrency: 3})
			w.Handle("stripe.*", free.accept)
			w.Handle("email.*", free.accept)
		})
		eventually(t, "the others are sent", func() bool { return count(t, db, "status = 'sent'") == 10 })
		require.Len(t, free.list(), 10)
		eventually(t, "the crowd has its share", func() bool { return crowd.highest() == 3 })
		close(gate)
		eventually(t, "all are sent", allSent(t, db))
		require.Equal(t, 3, crowd.highest())
	})

	t.Run("given families within families of which one has a concurrency of its own when rows come then each reaches its sender", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		ask(t, db, "a.x", "outer")
		ask(t, db, "a.b.x", "own")
		askMany(t, db, "a.b.y", 30)
		ask(t, db, "a.b.c", "inner")
		var outer, own, inner sent
		var alone meter
		start(t, db, outbox.Options{}, func(w *outbox.Worker) {
			w.Handle("a.*", outer.accept)
			w.Handle("a.b.*", func(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
				defer alone.enter()()
				time.Sleep(5 * time.Millisecond)
				return own.accept(ctx, a)
			}, outbox.Policy{Concurrency: 1})
			w.Handle("a.b.c", inner.accept)
		})
		eventually(t, "all are sent", allSent(t, db))
		require.Equal(t, map[string]int{"outer": 1}, outer.keys())
		require.Len(t, own.list(), 31)
		require.Equal(t, 1, alone.highest())
		require.Equal(t, map[string]int{"inner": 1}, inner.keys())
	})

	t.Run("given a database that refuses an outcome for a while when it takes outcomes again then the row is sent without another send", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		own := pool(t, db.URL("postgres")+"&lock_timeout=50ms")
		ask(t, db, "test.a", "k1")
		tx, err := db.Pool.Begin(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
		var s sent
		r := start(t, db, outbox.Options{DB: own, Lease: time.Hour}, func(w *outbox.Worker) {
			w.Handle("test.*", func(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
				if _, err := tx.Exec(ctx, "select from paidonce.outbox for update"); err != nil {
					return nil, outbox.Permanent(err)
				}
				return s.accept(ctx, a)
			})
		})
		eventually(t, "it is refused twice", func() bool { return r.metric(t, "paidonce_outbox_database_errors_total", "settle") >= 2 })
		require.NoError(t, tx.Rollback(t.Context()))
		eventually(t, "it is sent", allSent(t, db))
		require.Len(t, s.list(), 1)
	})

	t.Run("given a database that drops every connection again and again when rows are sent then all of them end as sent", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		own := pool(t, db.URL("postgres")+"&application_name=victim")
		askMany(t, db, "test.a", 2000)
		var s sent
		r := start(t, db, outbox.Options{DB: own, Lease: time.Second, Batch: 20, Concurrency: 4}, func(w *outbox.Worker) {
			w.Handle("test.*", func(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
				time.Sleep(time.Millisecond)
				return s.accept(ctx, a)
			})
		})
		for range 10 {
			time.Sleep(50 * time.Millisecond)
			db.Exec(t, `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'victim'`)
		}
		eventually(t, "all are sent", allSent(t, db))
		require.Len(t, s.keys(), 2000)
		require.Positive(t, r.metric(t, "paidonce_outbox_database_errors_total"))
		require.Contains(t, r.log.String(), "takes the call again")
	})
}
