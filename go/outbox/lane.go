package outbox

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// lane claims and sends the rows of some handlers: of all those that share the worker's concurrency, or of one
// that has its own. What piles up in one lane does not hold up the others.
type lane struct {
	*run
	handlers    []*handler
	actions     []string // as claim_outbox takes them
	concurrency int
	pace        *pace

	queue chan claimed
	wake  chan struct{} // rows may have come; one slot
	room  chan struct{} // fewer rows are held than before; one slot
}

// makeLanes divides the handlers up.
func (r *run) makeLanes() {
	var shared []*handler
	for i := range r.handlers {
		h := &r.handlers[i]
		if h.policy.Concurrency > 0 {
			r.addLane(h.policy.Concurrency, h)
			continue
		}
		shared = append(shared, h)
	}
	if len(shared) > 0 {
		r.addLane(r.options.Concurrency, shared...)
	}
	for _, l := range r.lanes {
		l.actions = l.claims()
	}
}

func (r *run) addLane(concurrency int, handlers ...*handler) {
	l := &lane{
		run: r, handlers: handlers, concurrency: concurrency, pace: &pace{concurrency: concurrency, batch: r.options.Batch},
		queue: make(chan claimed, concurrency+2*r.options.Batch), wake: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
	for _, h := range handlers {
		r.laneOf[h] = l
	}
	r.lanes = append(r.lanes, l)
}

// claims names the lane's patterns, and leaves out what lies within them but is another lane's.
func (l *lane) claims() []string {
	var names []string
	for _, h := range l.handlers {
		names = append(names, h.pattern)
	}
	within := func(outer, inner string) bool {
		prefix, family := strings.CutSuffix(outer, "*")
		return family && outer != inner && strings.HasPrefix(inner, prefix)
	}
	for h, other := range l.laneOf {
		inside := func(own *handler) bool { return within(own.pattern, h.pattern) }
		deeper := func(own *handler) bool { return within(h.pattern, own.pattern) }
		// Where a pattern of this lane lies deeper still, the rows are sorted after the claim.
		if other != l && slices.ContainsFunc(l.handlers, inside) && !slices.ContainsFunc(l.handlers, deeper) {
			names = append(names, "!"+h.pattern)
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
			l.trouble.report("claim", err)
			sleep(ctx, retryPause(failures))
			failures++
			continue
		}
		failures = 0
		l.trouble.over("claim")
		if len(rows) > 0 {
			l.enqueue(rows)
			active = time.Now()
			continue
		}
		timer := time.NewTimer(nextPoll(l.options.PollInterval, time.Since(active)))
		select {
		case <-timer.C:
		case <-l.wake:
			active = time.Now()
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// enqueue hands rows to the senders. There is always room for the lane's own rows; one of another lane, which
// a pattern could not tell apart, goes there if that one has room.
func (l *lane) enqueue(rows []claimed) {
	for _, c := range rows {
		c.lane = l
		if h, known := l.handlerOf(c.Name); known {
			c.lane = l.laneOf[h]
		}
		c.lane.pace.claimed(1)
		if c.lane == l {
			l.queue <- c
			continue
		}
		select {
		case c.lane.queue <- c:
		default:
			c.lane.pace.ended()
			l.report(release(c, ""))
		}
	}
}
