package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestFailures(t *testing.T) {
	t.Parallel()

	t.Run("given poison rows that fill a batch and one good row behind them when the worker works then the good one goes at once and the poison ends dead with its reason", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		askMany(t, db, "test.poison", 5)
		ask(t, db, "test.good", "good")
		var polls atomic.Int64
		start(t, db, outbox.Options{Batch: 5, Concurrency: 5, Policy: outbox.Policy{MaxAttempts: 4, BackoffBase: 100 * time.Millisecond}}, func(w *outbox.Worker) {
			w.Handle("test.poison", func(context.Context, outbox.Action) (json.RawMessage, error) {
				polls.Add(1)
				return nil, errors.New("poison: it cannot be swallowed")
			})
			w.Handle("test.good", func(context.Context, outbox.Action) (json.RawMessage, error) {
				require.LessOrEqual(t, polls.Load(), int64(10), "within two polls of the poison")
				return nil, nil
			})
		})
		eventually(t, "the good one goes", func() bool { return count(t, db, "action = 'test.good' and status = 'sent'") == 1 })
		eventually(t, "the others are given up", func() bool { return count(t, db, "status = 'dead'") == 5 })
		require.EqualValues(t, 5, count(t, db, "status = 'dead' and attempts = 4 and error = 'poison: it cannot be swallowed'"))
		require.EqualValues(t, 20, polls.Load())
	})

	t.Run("given an outage of 30 minutes at a thousandth of their length when it is over then every row is sent with attempts to spare", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		askMany(t, db, "test.a", 50)
		began := time.Now()
		var s sent
		start(t, db, outbox.Options{PollInterval: time.Millisecond, Policy: outbox.Policy{BackoffBase: time.Millisecond, BackoffCap: 900 * time.Millisecond}}, func(w *outbox.Worker) {
			w.Handle("test.*", func(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
				if time.Since(began) < 1800*time.Millisecond {
					return nil, errors.New("503")
				}
				return s.accept(ctx, a)
			})
		})
		eventually(t, "all are sent", allSent(t, db))
		require.Len(t, s.list(), 50)
		require.Less(t, pgtest.One[int](t, db, "select max(attempts) from paidonce.outbox"), 30)
	})

	t.Run("given rows that an outage has made dead when they are requeued then they are sent under their keys with fresh attempts", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		ask(t, db, "test.a", "k1", "k2")
		var healthy atomic.Bool
		var s sent
		start(t, db, outbox.Options{Policy: outbox.Policy{MaxAttempts: 2}}, func(w *outbox.Worker) {
			w.Handle("test.*", func(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
				if !healthy.Load() {
					return nil, errors.New("503")
				}
				return s.accept(ctx, a)
			})
		})
		eventually(t, "they are given up", func() bool { return count(t, db, "status = 'dead'") == 2 })
		healthy.Store(true)
		db.Exec(t, "select paidonce.requeue_outbox(id) from paidonce.outbox")
		eventually(t, "they are sent", allSent(t, db))
		require.Equal(t, map[string]int{"k1": 1, "k2": 1}, s.keys())
		require.Equal(t, 1, s.list()[0].Attempt)
	})

	for name, c := range map[string]struct {
		send     outbox.Sender
		policy   outbox.Policy
		status   string
		attempts int
		err      string
	}{
		"an error that is permanent": {func(context.Context, outbox.Action) (json.RawMessage, error) {
			return nil, fmt.Errorf("send: %w", outbox.Permanent(errors.New("422 no such address")))
		}, outbox.Policy{}, "dead", 1, "send: 422 no such address"},
		"a sender that panics once": {func(_ context.Context, a outbox.Action) (json.RawMessage, error) {
			if a.Attempt == 1 {
				panic("nil map")
			}
			return nil, nil
		}, outbox.Policy{}, "sent", 2, ""},
		"a sender that always panics": {func(context.Context, outbox.Action) (json.RawMessage, error) {
			panic("nil map")
		}, outbox.Policy{MaxAttempts: 3}, "dead", 3, "the sender panicked: nil map"},
		"a sender that never answers": {func(ctx context.Context, _ outbox.Action) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, outbox.Policy{MaxAttempts: 2, Timeout: 20 * time.Millisecond}, "dead", 2, "no answer within 20ms: context deadline exceeded"},
		"a key that the provider forgets before the next attempt": {func(context.Context, outbox.Action) (json.RawMessage, error) {
			return nil, outbox.RetryAfter(time.Hour, errors.New("429"))
		}, outbox.Policy{KeyLife: time.Minute}, "dead", 1, "given up, since the provider forgets the key after 1m0s: 429"},
		"an error that a text of the database cannot hold": {func(context.Context, outbox.Action) (json.RawMessage, error) {
			return nil, errors.New("bad \x00 byte \xff")
		}, outbox.Policy{MaxAttempts: 1}, "dead", 1, "bad \uFFFD byte \uFFFD"},
		"an error as long as a book": {func(context.Context, outbox.Action) (json.RawMessage, error) {
			return nil, errors.New(strings.Repeat("e", 3000))
		}, outbox.Policy{MaxAttempts: 1}, "dead", 1, strings.Repeat("e", 2000) + "…"},
	} {
		t.Run("given "+name+" when the row is tried then it ends as "+c.status, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			ask(t, db, "test.a", "k1")
			start(t, db, outbox.Options{}, func(w *outbox.Worker) { w.Handle("test.a", c.send, c.policy) })
			eventually(t, "it is over", func() bool { return count(t, db, "status <> 'pending'") == 1 })
			require.Equal(t, c.status, pgtest.One[string](t, db, "select status from paidonce.outbox"))
			require.Equal(t, c.attempts, pgtest.One[int](t, db, "select attempts from paidonce.outbox"))
			require.True(t, c.err == pgtest.One[string](t, db, "select coalesce(error, '') from paidonce.outbox"), "its error is not as it must be")
		})
	}

	t.Run("given a provider that asks to wait when the row is tried again then not before that", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		ask(t, db, "test.a", "k1")
		var s sent
		start(t, db, outbox.Options{}, func(w *outbox.Worker) {
			w.Handle("test.a", func(_ context.Context, a outbox.Action) (json.RawMessage, error) {
				if s.add(a) == 1 {
					return nil, outbox.RetryAfter(400*time.Millisecond, errors.New("429"))
				}
				return nil, nil
			})
		})
		eventually(t, "it is sent", allSent(t, db))
		require.GreaterOrEqual(t, s.at[1].Sub(s.at[0]), 400*time.Millisecond)
	})

	t.Run("given a key older than the provider remembers when the row is claimed then it is not sent", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		ask(t, db, "test.a", "k1")
		db.Exec(t, "update paidonce.outbox set first_attempt_at = now() - interval '25 hours', attempts = 1")
		var s sent
		start(t, db, outbox.Options{}, func(w *outbox.Worker) { w.Handle("test.a", s.accept, outbox.Policy{KeyLife: 24 * time.Hour}) })
		eventually(t, "it is given up", func() bool { return count(t, db, "status = 'dead' and error like '%may have forgotten the key%'") == 1 })
		require.Empty(t, s.list())
	})

	t.Run("given a row that ended every worker that tried it when its attempts are used up then it is dead without another try", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		ask(t, db, "test.a", "k1")
		db.Exec(t, "update paidonce.outbox set attempts = 3, lease_token = 3, lease_until = now() - interval '1 second', first_attempt_at = now()")
		var s sent
		start(t, db, outbox.Options{Policy: outbox.Policy{MaxAttempts: 3}}, func(w *outbox.Worker) { w.Handle("test.a", s.accept) })
		eventually(t, "it is given up", func() bool { return count(t, db, "status = 'dead' and error like 'given up after 3 attempts%'") == 1 })
		require.Empty(t, s.list())
	})

	for _, huge := range []bool{false, true} { // the only one that cannot be told from a good one beforehand
		t.Run(fmt.Sprintf("given answers that jsonb refuses among others (a huge number: %t) when they are written down then every row is sent and keeps what can be kept", huge), func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			answers := map[string]string{
				"good": `{"id": 1}`, "none": ``, "nul": `{"a": "\u0000"}`, "half": `{"a": "\uD800"}`,
				"text": `<html>no JSON</html>`, "long": `"` + strings.Repeat("x", 20000) + `"`, "bytes": "\xff\x00",
			}
			if huge {
				answers["huge"] = `{"a": 1e999999}`
			}
			for key := range answers {
				ask(t, db, "test.a", key)
			}
			start(t, db, outbox.Options{}, func(w *outbox.Worker) {
				w.Handle("test.a", func(_ context.Context, a outbox.Action) (json.RawMessage, error) {
					return json.RawMessage(answers[a.IdempotencyKey]), nil
				})
			})
			eventually(t, "all are sent", allSent(t, db))
			for key, answer := range answers {
				kept := pgtest.One[string](t, db, "select coalesce(response #>> '{}', '') from paidonce.outbox where idempotency_key = $1", key)
				switch key {
				case "long":
					require.Less(t, len(kept), 8100)
				case "bytes":
					require.Equal(t, "\uFFFD\uFFFD", kept)
				default:
					require.Equal(t, answer, kept)
				}
			}
			if !huge {
				require.Equal(t, "object", pgtest.One[string](t, db, "select jsonb_typeof(response) from paidonce.outbox where idempotency_key = 'good'"))
			}
		})
	}
}
