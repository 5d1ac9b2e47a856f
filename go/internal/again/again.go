// Package again says how long to wait before a call of the database is made once more, for all that poll it.
package again

import (
	"context"
	"math/rand/v2"
	"time"
)

// After activity a poll follows another this soon, for so long: a transaction that left out its notice,
// because another one was giving one, may commit after that one's poll.
const (
	lively    = 2 * time.Second
	livelyMin = 50 * time.Millisecond
	livelyMax = 100 * time.Millisecond
)

// Poll is how long to wait for a notice after a poll that found nothing.
func Poll(interval time.Duration, sinceActivity time.Duration) time.Duration {
	pause := interval*9/10 + rand.N(interval/5+1)
	if sinceActivity < lively {
		pause = min(pause, livelyMin+rand.N(livelyMax-livelyMin))
	}
	return pause
}

// Retry is how long to leave a database alone that has just refused.
func Retry(failures int) time.Duration {
	const first, longest = 50 * time.Millisecond, 5 * time.Second
	return first/2 + rand.N(min(first<<min(failures, 10), longest))
}

// Sleep says false when ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	_, ok := Wait(ctx, d, nil)
	return ok
}

// Wait waits for d or for wake, and says which it was; ok is false when ctx ended first.
func Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken, ok bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false, true
	case <-wake:
		return true, true
	case <-ctx.Done():
		return false, false
	}
}
