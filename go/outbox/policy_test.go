package outbox

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBackoff(t *testing.T) {
	t.Parallel()

	p := Policy{BackoffBase: time.Second, BackoffCap: time.Minute}
	for attempt, limit := range map[int]time.Duration{
		1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 6: 32 * time.Second, 7: time.Minute, 8: time.Minute, 40: time.Minute, 1000: time.Minute,
	} {
		t.Run(fmt.Sprintf("given attempt %d when the pause is drawn often then it is anything up to %s", attempt, limit), func(t *testing.T) {
			t.Parallel()
			var least, most time.Duration = time.Hour, 0
			for range 2000 {
				pause := p.backoff(attempt)
				least, most = min(least, pause), max(most, pause)
			}
			require.LessOrEqual(t, most, limit)
			require.Greater(t, most, limit*9/10)
			require.Less(t, least, limit/10)
		})
	}
}

func TestPolicyOver(t *testing.T) {
	t.Parallel()

	t.Run("given two policies when one goes over the other then its own fields win and the rest is the other's", func(t *testing.T) {
		t.Parallel()
		base := Policy{MaxAttempts: 1, BackoffBase: 2, BackoffCap: 3, Timeout: 4, KeyLife: 5, Concurrency: 6}
		require.Equal(t, base, Policy{}.over(base))
		other := Policy{MaxAttempts: 10, BackoffBase: 20, BackoffCap: 30, Timeout: 40, KeyLife: 50, Concurrency: 60}
		require.Equal(t, other, other.over(base))
		require.Equal(t, Policy{MaxAttempts: 1, BackoffBase: 2, BackoffCap: 3, Timeout: 40, KeyLife: 5, Concurrency: 6}, Policy{Timeout: 40}.over(base))
	})
}

func TestMarks(t *testing.T) {
	t.Parallel()

	t.Run("given an error that is marked when it is wrapped then the mark and the error are still found, and nothing stays nothing", func(t *testing.T) {
		t.Parallel()
		cause := errors.New("422")
		require.True(t, isPermanent(fmt.Errorf("send: %w", Permanent(cause))))
		require.False(t, isPermanent(cause))
		require.ErrorIs(t, Permanent(cause), cause)
		require.Equal(t, time.Minute, retryAfter(fmt.Errorf("send: %w", RetryAfter(time.Minute, cause))))
		require.Equal(t, maxRetryAfter, retryAfter(RetryAfter(1<<62, cause)), "not for years")
		require.Zero(t, retryAfter(RetryAfter(-1, cause)))
		require.ErrorIs(t, RetryAfter(0, cause), cause)
		require.NoError(t, Permanent(nil))
		require.NoError(t, RetryAfter(time.Second, nil))
	})
}

func TestPace(t *testing.T) {
	t.Parallel()

	t.Run("given a slow receiver when rows are wanted then not many more than can be sent at once", func(t *testing.T) {
		t.Parallel()
		p := &pace{concurrency: 10, batch: 500}
		require.Equal(t, 10, p.want())
		p.claimed(10)
		require.Zero(t, p.want())
		p.since = time.Now().Add(-time.Second)
		for range 10 {
			p.ended()
		}
		p.settled(10)
		require.InDelta(t, 12, p.want(), 1)
	})

	t.Run("given a fast receiver when rows are wanted then as many as last for a moment, but never more than a batch", func(t *testing.T) {
		t.Parallel()
		p := &pace{concurrency: 10, batch: 500, since: time.Now().Add(-100 * time.Millisecond), finished: 1000}
		require.Equal(t, 500, p.want())
		p.claimed(2000)
		require.Zero(t, p.want())
	})

	t.Run("given a database that is slow to take outcomes when rows are wanted then it is given time", func(t *testing.T) {
		t.Parallel()
		p := &pace{concurrency: 10, batch: 500, since: time.Now()}
		p.claimed(1010)
		for range 1010 {
			p.ended()
		}
		require.Zero(t, p.want())
		p.settled(1010)
		require.Equal(t, 10, p.want())
	})
}
