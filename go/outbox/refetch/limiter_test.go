package refetch

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outboxtest"
)

func TestLimiter(t *testing.T) {
	t.Parallel()

	t.Run("given many at once when they wait for their turn then no more than the rate and its burst pass", func(t *testing.T) {
		t.Parallel()
		l := newLimiter(40)
		var passed atomic.Int32
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if l.wait(ctx) == nil {
					passed.Add(1)
				}
			})
		}
		all.Wait()
		require.LessOrEqual(t, passed.Load(), int32(40*0.5+10+2))
		require.GreaterOrEqual(t, passed.Load(), int32(10))
	})

	t.Run("given a turn that comes after the deadline then it returns at once and says when to come back", func(t *testing.T) {
		t.Parallel()
		l := newLimiter(1)
		require.NoError(t, l.wait(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		err := l.wait(ctx)
		require.Regexp(t, `^retry after (1s|9\d\d)`, outboxtest.Verdict(err))
		require.NoError(t, l.wait(t.Context()), "that turn was not used up")
		require.Less(t, time.Since(began), 1900*time.Millisecond)
	})

	t.Run("given a pause when somebody waits already then they wait for its end too, and no burst follows", func(t *testing.T) {
		t.Parallel()
		l := newLimiter(2)
		require.NoError(t, l.wait(t.Context()))
		began := time.Now()
		passed := make(chan time.Duration, 2)
		for range cap(passed) {
			go func() {
				_ = l.wait(t.Context())
				passed <- time.Since(began)
			}()
		}
		time.Sleep(50 * time.Millisecond)
		l.pause(900 * time.Millisecond)
		require.GreaterOrEqual(t, <-passed, 950*time.Millisecond, "its turn would have come after 500 ms")
		require.GreaterOrEqual(t, <-passed, 1450*time.Millisecond)
	})

	t.Run("given the end of the caller's time when it waits then it returns", func(t *testing.T) {
		t.Parallel()
		l := newLimiter(1)
		require.NoError(t, l.wait(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		require.ErrorIs(t, l.wait(ctx), context.Canceled)
	})
}
