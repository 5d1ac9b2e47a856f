package refetch

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/paidonce/paidonce/go/outbox"
)

// limiter is a token bucket that can be told to stop for a while.
type limiter struct {
	every time.Duration
	burst int
	now   func() time.Time

	mu     sync.Mutex
	next   time.Time // the next turn that is free
	paused time.Time // no turn before this time counts
}

func newLimiter(rate float64) *limiter {
	return &limiter{every: time.Duration(float64(time.Second) / rate), burst: max(1, int(math.Round(rate/4))), now: time.Now}
}

// wait returns when it is the caller's turn. If that comes after ctx's deadline it returns at once, with an
// error that says when to come back.
func (l *limiter) wait(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		turn, in := l.reserve(ctx)
		if turn.IsZero() {
			return outbox.RetryAfter(in, errors.New("other requests to Stripe are waiting for their turn, too many to wait here"))
		}
		if in > 0 {
			timer := time.NewTimer(in)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return ctx.Err()
			}
		}
		if l.stands(turn) {
			return nil
		}
	}
}

// reserve takes the next turn and says how long it is until then. A turn after the deadline is not taken.
func (l *limiter) reserve(ctx context.Context) (turn time.Time, in time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	earliest := now.Add(-time.Duration(l.burst-1) * l.every)
	if l.paused.After(earliest) {
		earliest = l.paused
	}
	if l.next.Before(earliest) {
		l.next = earliest
	}
	in = max(l.next.Sub(now), 0)
	if deadline, ok := ctx.Deadline(); ok && now.Add(in).After(deadline) {
		return time.Time{}, in
	}
	turn = l.next
	l.next = l.next.Add(l.every)
	return turn, in
}

// stands says whether a turn that was taken has not been overtaken by a pause.
func (l *limiter) stands(turn time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !turn.Before(l.paused) || !l.now().Before(l.paused)
}

// pause lets nobody pass before d is over.
func (l *limiter) pause(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := l.now().Add(d); l.paused.Before(until) {
		l.paused = until
	}
}
