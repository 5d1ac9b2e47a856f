package outbox_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func pool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	p, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// workerURL makes a login that is a member of paidonce_worker and nothing else.
func workerURL(t testing.TB, db *pgtest.DB) string {
	t.Helper()
	return loginOf(t, db, "paidonce_worker")
}

// loginOf is a login with the rights of one role and nothing more.
func loginOf(t testing.TB, db *pgtest.DB, of string) string {
	t.Helper()
	role := "worker_" + db.Name
	db.Exec(t, "create role "+role+" in role "+of)
	t.Cleanup(func() {
		_, err := db.Pool.Exec(context.Background(), "drop role "+role)
		require.NoError(t, err)
	})
	return db.Login(t, role)
}

func TestLease(t *testing.T) {
	t.Parallel()

	t.Run("given rows of a worker that is gone when their lease is over then another one sends them under the same keys as their second attempt", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		ask(t, db, "test.a", "k1", "k2")
		db.Exec(t, "select paidonce.claim_outbox(10, '500 milliseconds')")
		began := time.Now()
		var s sent
		start(t, db, outbox.Options{}, func(w *outbox.Worker) { w.Handle("test.*", s.accept) })
		eventually(t, "they are sent", allSent(t, db))
		require.Greater(t, time.Since(began), 300*time.Millisecond, "not before the lease is over")
		require.Equal(t, map[string]int{"k1": 1, "k2": 1}, s.keys())
		require.Equal(t, 2, s.list()[0].Attempt)
	})

	t.Run("given a sender that outlives its lease when another worker has the row by then its late outcome changes nothing", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		ask(t, db, "test.a", "k1")
		hold := make(chan struct{})
		var called atomic.Int64
		slow := start(t, db, outbox.Options{Lease: 300 * time.Millisecond, Concurrency: 1}, func(w *outbox.Worker) {
			w.Handle("test.*", func(context.Context, outbox.Action) (json.RawMessage, error) {
				called.Add(1)
				<-hold // whatever its context says
				return nil, outbox.Permanent(context.Canceled)
			})
		})
		eventually(t, "the first has it", func() bool { return called.Load() == 1 })
		var s sent
		finish := make(chan struct{})
		start(t, db, outbox.Options{}, func(w *outbox.Worker) {
			w.Handle("test.*", func(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
				s.add(a)
				<-finish
				return nil, nil
			})
		})
		eventually(t, "the second has it", func() bool { return len(s.list()) == 1 })
		before := pgtest.One[string](t, db, "select outbox::text from paidonce.outbox")
		close(hold)
		eventually(t, "the late outcome is refused", func() bool { return slow.metric(t, "paidonce_outbox_attempts_total", "late") == 1 })
		require.Equal(t, before, pgtest.One[string](t, db, "select outbox::text from paidonce.outbox"))
		close(finish)
		eventually(t, "the second has sent it", allSent(t, db))
	})

	t.Run("given a timeout longer than the lease when a sender waits for its context then it ends before the lease does", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		ask(t, db, "test.a", "k1")
		took := make(chan time.Duration, 10)
		r := start(t, db, outbox.Options{Lease: 600 * time.Millisecond, Policy: outbox.Policy{MaxAttempts: 1}}, func(w *outbox.Worker) {
			w.Handle("test.*", func(ctx context.Context, _ outbox.Action) (json.RawMessage, error) {
				began := time.Now()
				<-ctx.Done()
				took <- time.Since(began)
				return nil, ctx.Err()
			}, outbox.Policy{Timeout: time.Hour})
		})
		eventually(t, "it is given up", func() bool { return count(t, db, "status = 'dead'") == 1 })
		require.Less(t, <-took, 600*time.Millisecond)
		require.Zero(t, r.metric(t, "paidonce_outbox_attempts_total", "late"))
		require.Contains(t, r.log.String(), "the lease is short")
	})

	t.Run("given more rows than can be sent in a lease when they are sent then none is sent twice", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		askMany(t, db, "test.a", 120)
		var s sent
		for range 2 {
			start(t, db, outbox.Options{Lease: time.Second, Concurrency: 2, Batch: 100}, func(w *outbox.Worker) {
				w.Handle("test.*", func(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
					time.Sleep(40 * time.Millisecond)
					return s.accept(ctx, a)
				})
			})
		}
		eventually(t, "all are sent", allSent(t, db))
		require.Len(t, s.list(), 120)
		require.EqualValues(t, 120, count(t, db, "attempts = 1"))
	})
}

func TestLeaseInQueue(t *testing.T) {
	t.Parallel()

	t.Run("given rows claimed ahead of a receiver that becomes slow when their lease wears away in the queue then they are given back and none is sent twice", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		askMany(t, db, "test.a", 320)
		var s sent
		var workers []*working
		for range 2 {
			workers = append(workers, start(t, db, outbox.Options{Lease: time.Second, Concurrency: 1}, func(w *outbox.Worker) {
				w.Handle("test.*", func(_ context.Context, a outbox.Action) (json.RawMessage, error) {
					if s.add(a) > 280 {
						time.Sleep(200 * time.Millisecond)
					}
					return nil, nil
				}, outbox.Policy{Timeout: 300 * time.Millisecond})
			}))
		}
		eventually(t, "all are sent", allSent(t, db))
		require.Len(t, s.list(), 320)
		require.Positive(t, workers[0].metric(t, "paidonce_outbox_attempts_total", "release")+workers[1].metric(t, "paidonce_outbox_attempts_total", "release"))
	})
}

func TestShutdown(t *testing.T) {
	t.Parallel()

	t.Run("given a send in flight and rows not begun when stopped then the first is finished, the others are given back untried", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		askMany(t, db, "test.a", 10)
		var s sent
		var slow atomic.Bool
		r := start(t, db, outbox.Options{Concurrency: 1}, func(w *outbox.Worker) {
			w.Handle("test.*", func(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
				defer s.add(a)
				if len(s.list()) < 2 {
					return nil, nil // so fast that it claims ahead
				}
				slow.Store(true)
				select {
				case <-time.After(700 * time.Millisecond):
				case <-ctx.Done():
				}
				return nil, ctx.Err()
			})
		})
		eventually(t, "the slow one is in flight", slow.Load)
		require.NoError(t, r.stop(t))
		require.Len(t, s.list(), 3)
		require.EqualValues(t, 3, count(t, db, "status = 'sent' and attempts = 1"))
		require.EqualValues(t, 7, count(t, db, "status = 'pending' and attempts = 0 and lease_until is null and first_attempt_at is null"))
	})

	t.Run("given a send longer than the grace when stopped then it is cut off and given back", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		ask(t, db, "test.a", "k1")
		var begun atomic.Bool
		r := start(t, db, outbox.Options{Grace: 100 * time.Millisecond}, func(w *outbox.Worker) {
			w.Handle("test.*", func(ctx context.Context, _ outbox.Action) (json.RawMessage, error) {
				begun.Store(true)
				<-ctx.Done()
				return nil, ctx.Err()
			})
		})
		eventually(t, "it is in flight", begun.Load)
		require.NoError(t, r.stop(t))
		require.EqualValues(t, 1, count(t, db, "status = 'pending' and attempts = 0 and lease_until is null and error is null"))
	})

	t.Run("given a worker with wrong senders when run then it says so at once", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		var s sent
		for says, handle := range map[string]func(*outbox.Worker){
			"is no pattern":      func(w *outbox.Worker) { w.Handle("Email", s.accept) },
			"has no sender":      func(w *outbox.Worker) { w.Handle("email", nil) },
			"registered twice":   func(w *outbox.Worker) { w.Handle("email", s.accept); w.Handle("email", s.accept) },
			"cannot be negative": func(w *outbox.Worker) { w.Handle("email", s.accept, outbox.Policy{Timeout: -1}) },
		} {
			w, err := outbox.New(outbox.Options{DB: db.Pool})
			require.NoError(t, err)
			handle(w)
			require.ErrorContains(t, w.Run(t.Context()), says)
		}
		_, err := outbox.New(outbox.Options{})
		require.ErrorContains(t, err, "no database")
		_, err = outbox.New(outbox.Options{DB: db.Pool, Batch: 10001})
		require.ErrorContains(t, err, "10000")
		_, err = outbox.New(outbox.Options{DB: db.Pool, ListenURL: "postgres://u:hunter2@h:port/d"})
		require.ErrorContains(t, err, "LISTEN")
		require.NotContains(t, err.Error(), "hunter2")
	})
}
