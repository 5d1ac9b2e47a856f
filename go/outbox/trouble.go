package outbox

import (
	"log/slog"
	"sync"
	"time"
)

// remindEvery keeps a database that is away for an hour from filling the log.
const remindEvery = time.Minute

// trouble tells the log about a call that fails again and again: when it begins, every minute, and when it
// is over.
type trouble struct {
	log     *slog.Logger
	metrics *Metrics

	mu    sync.Mutex
	since map[string]time.Time
	told  map[string]time.Time
}

func (t *trouble) report(call string, err error) {
	t.metrics.databaseError(call)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since == nil {
		t.since, t.told = map[string]time.Time{}, map[string]time.Time{}
	}
	if t.since[call].IsZero() {
		t.since[call] = time.Now()
	}
	if time.Since(t.told[call]) >= remindEvery {
		t.told[call] = time.Now()
		t.log.Error("outbox: the database does not take a call, trying again", "call", call, "since", t.since[call].UTC(), "error", err)
	}
}

func (t *trouble) over(call string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if since, was := t.since[call]; was {
		delete(t.since, call)
		delete(t.told, call)
		t.log.Info("outbox: the database takes the call again", "call", call, "after", time.Since(since).Round(time.Millisecond))
	}
}
