package outbox

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paidonce/paidonce/go/internal/again"
)

// lane claims and sends the rows of one handler. What piles up in one lane, or hangs, does not hold up the others.
type lane struct {
	*run
	handler     *handler
	actions     []string // as claim_outbox takes them
	concurrency int
	pace        *pace

	queue chan claimed
	wake  chan struct{} // rows may have come; one slot
	room  chan struct{} // fewer rows are held than before; one slot
}

// makeLanes gives each handler a lane.
func (r *run) makeLanes() {
	for i := range r.handlers {
		h := &r.handlers[i]
		concurrency := either(h.policy.Concurrency, r.options.Concurrency)
		r.lanes = append(r.lanes, &lane{
			run: r, handler: h, actions: r.claims(h), concurrency: concurrency, pace: &pace{concurrency: concurrency, batch: r.options.Batch},
			queue: make(chan claimed, concurrency+2*r.options.Batch), wake: make(chan struct{}, 1), room: make(chan struct{}, 1),
		})
	}
}

// claims names the pattern of h, and leaves out what lies within it but is another handler's.
func (w *Worker) claims(h *handler) []string {
	names := []string{h.pattern}
	prefix, family := strings.CutSuffix(h.pattern, "*")
	for _, other := range w.handlers {
		if family && other.pattern != h.pattern && strings.HasPrefix(other.pattern, prefix) {
			names = append(names, "!"+other.pattern)
		}
	}
	slices.Sort(names)
	return names
}

// start begins to send what is queued.
func (l *lane) start(senders *sync.WaitGroup) {
	for range l.concurrency {
		senders.Go(l.work)
	}
}

// dispatch claims rows and queues them until ctx ends.
func (l *lane) dispatch(ctx context.Context) {
	active := time.Now()
	failures := 0
	for ctx.Err() == nil {
		n := l.pace.want()
		if n == 0 {
			select {
			case <-l.room:
			case <-ctx.Done():
			}
			continue
		}
		rows, err := l.claim(ctx, n)
		if err != nil {
			l.trouble.Report("claim", err)
			again.Sleep(ctx, again.Retry(failures))
			failures++
			continue
		}
		failures = 0
		l.trouble.Over("claim")
		if len(rows) > 0 {
			l.enqueue(rows)
			active = time.Now()
			continue
		}
		if woken, _ := again.Wait(ctx, again.Poll(l.options.PollInterval, time.Since(active)), l.wake); woken {
			active = time.Now()
		}
	}
}

// enqueue hands rows to the senders. There is always room for them.
func (l *lane) enqueue(rows []claimed) {
	for _, c := range rows {
		l.pace.claimed(1)
		l.queue <- c
	}
}
