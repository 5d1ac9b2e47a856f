package again

import (
	"log/slog"
	"sync"
	"time"
)

// remindEvery keeps a database that is away for an hour from filling the log.
const remindEvery = time.Minute

// Trouble tells the log about a call of the database that fails again and again: when it begins, every minute,
// and when it is over.
type Trouble struct {
	Log   *slog.Logger
	Who   string            // begins each line
	Count func(call string) // counts each failure; may be nil

	mu    sync.Mutex
	since map[string]time.Time
	told  map[string]time.Time
}

// Report says that a call failed.
func (t *Trouble) Report(call string, err error) {
	if t.Count != nil {
		t.Count(call)
	}
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
		t.Log.Error(t.Who+": the database does not take a call, trying again", "call", call, "since", t.since[call].UTC(), "error", err)
	}
}

// Over says that a call worked.
func (t *Trouble) Over(call string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if since, was := t.since[call]; was {
		delete(t.since, call)
		delete(t.told, call)
		t.Log.Info(t.Who+": the database takes the call again", "call", call, "after", time.Since(since).Round(time.Millisecond))
	}
}
