package outbox

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// work sends what is queued until the queue is closed.
func (l *lane) work() {
	for c := range l.queue {
		res := l.attempt(c)
		l.pace.ended()
		signal(l.room)
		l.report(res)
	}
}

// attempt sends one row and says what is to become of it.
func (r *run) attempt(c claimed) result {
	h := c.lane.handler
	res := result{claimed: c, pattern: h.pattern}
	now := time.Now()
	switch {
	case r.stopping.Load():
		return release(c, h.pattern)
	case c.Attempt > h.policy.MaxAttempts:
		// Only a worker that ended before it could say what came of the last attempt leaves such a row.
		return res.dead(fmt.Errorf("given up after %d attempts: the worker that made the last one did not report what came of it", h.policy.MaxAttempts))
	case h.policy.outlived(c.FirstAttemptAt, now):
		return res.dead(fmt.Errorf("given up: the provider may have forgotten the key, which it keeps for %s", h.policy.KeyLife))
	case now.Add(h.policy.Timeout).After(c.expiresAt.Add(-r.margin())):
		return release(c, h.pattern) // it waited too long here to be sent under this lease
	}

	ctx, cancel := context.WithTimeout(r.sending, h.policy.Timeout)
	defer cancel()
	response, err := r.call(ctx, h, c.Action)
	res.took = time.Since(now)
	switch {
	case err == nil:
		res.outcome, res.response = outcomeSent, response
		return res
	case r.sending.Err() != nil:
		return release(c, h.pattern) // cut off by the end of the grace, through no fault of its own
	}
	return r.failed(res, h.policy, err)
}

// margin is what is kept of a lease for writing the outcome down.
func (r *run) margin() time.Duration { return r.options.Lease / 10 }

// call runs the sender. One that panics has failed like any other, and takes no worker down.
func (r *run) call(ctx context.Context, h *handler, a Action) (response []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("outbox: a sender panicked", "id", a.ID, "action", a.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("the sender panicked: %v", p)
		}
	}()
	return h.send(ctx, a)
}

// failed decides between another attempt and giving up.
func (r *run) failed(res result, p Policy, err error) result {
	if errors.Is(err, context.DeadlineExceeded) && res.took >= p.Timeout {
		err = fmt.Errorf("no answer within %s: %w", p.Timeout, err)
	}
	wait := max(p.backoff(res.Attempt), retryAfter(err))
	switch {
	case isPermanent(err):
		return res.dead(err)
	case res.Attempt >= p.MaxAttempts:
		return res.dead(err)
	case p.outlived(res.FirstAttemptAt, time.Now().Add(wait)):
		return res.dead(fmt.Errorf("given up, since the provider forgets the key after %s: %w", p.KeyLife, err))
	}
	res.outcome, res.err, res.wait = outcomeRetry, err, wait
	r.log.Warn("outbox: not sent, trying again", "id", res.ID, "action", res.Name, "attempt", res.Attempt, "in", wait.Round(time.Millisecond), "error", shorten(err.Error()))
	return res
}
