package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paidonce/paidonce/go/due"
	"github.com/paidonce/paidonce/go/internal/again"
)

// afterGrace is how long senders may take to notice that they were cut off, and the database to take the last
// outcomes.
const afterGrace = 5 * time.Second

// run is one run of a worker.
//
//	claim email.* ──queue──▶ work (Concurrency of them) ──┐
//	claim http.*  ──queue──▶ work (as many)            ───┴─results──▶ settle
type run struct {
	*Worker
	lanes   []*lane
	trouble again.Trouble
	due     *due.Runner

	claiming chan struct{} // a slot for each claim under way
	results  chan result
	reported chan struct{} // closed when no more results come
	settled  chan struct{} // closed when all of them are written down

	stopping atomic.Bool
	sending  context.Context // ends when the grace is over
	settling context.Context // ends when nothing can be waited for any more
}

// Run sends rows, and runs due work, until ctx ends. Then it claims no more, gives back what it has not begun,
// and lets the sends in flight finish within the grace; what is still running is cut off and given back. An item
// of due work that is under way is broken off at once, and stays due. It returns nil when nothing was left
// behind, and an error at once when Handle was called wrongly.
func (w *Worker) Run(ctx context.Context) error {
	if err := errors.Join(w.mistakes...); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	sending, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	settling, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	r := &run{
		Worker: w, claiming: make(chan struct{}, claimsAtOnce),
		trouble: again.Trouble{Log: w.log, Who: "outbox", Count: w.options.Metrics.databaseError},
		due:     &due.Runner{DB: w.options.DB, Logger: w.log, PollInterval: w.options.PollInterval, Concurrency: w.dueAtOnce()},
		results: make(chan result, w.options.Batch), reported: make(chan struct{}), settled: make(chan struct{}),
		sending: sending, settling: settling,
	}
	r.makeLanes()

	var watchers, dispatchers, senders sync.WaitGroup
	watchers.Go(func() { r.listen(ctx) })
	watchers.Go(func() { _ = r.due.Run(ctx) }) // its options have been checked
	if len(r.lanes) == 0 {
		w.log.Info("outbox: no sender is registered, so rows wait and only due work is done", "poll", w.options.PollInterval)
	} else {
		watchers.Go(func() { r.watchBacklog(ctx) })
	}
	go r.settle()
	for _, l := range r.lanes {
		w.log.Info("outbox: working", "actions", l.actions, "concurrency", l.concurrency, "lease", w.options.Lease, "poll", w.options.PollInterval)
		l.start(&senders)
		dispatchers.Go(func() { l.dispatch(ctx) })
	}

	<-ctx.Done()
	r.stopping.Store(true)
	dispatchers.Wait()
	for _, l := range r.lanes {
		close(l.queue)
	}
	err := r.finish(&senders, cut, abandon)
	watchers.Wait()
	if err != nil {
		return err
	}
	w.log.Info("outbox: stopped, nothing was left in flight")
	return nil
}

// dueAtOnce leaves two of the pool's connections to the rows, if it has more.
func (w *Worker) dueAtOnce() int {
	return max(1, min(w.options.DueWork, int(w.options.DB.Config().MaxConns)-2))
}

// finish ends the senders, then the settler.
func (r *run) finish(senders *sync.WaitGroup, cut, abandon context.CancelFunc) error {
	done := make(chan struct{})
	go func() {
		senders.Wait()
		close(done)
	}()
	stuck := false
	if !within(done, r.options.Grace) {
		r.log.Warn("outbox: cutting off what is still being sent", "grace", r.options.Grace)
		cut()
		stuck = !within(done, afterGrace)
	}
	close(r.reported)
	if !within(r.settled, afterGrace) {
		abandon()
		<-r.settled
		return errors.New("outbox: the last outcomes could not be written down; those rows are sent again under their keys")
	}
	if stuck {
		return errors.New("outbox: a sender does not end although its context has; its row is sent again when its lease is over")
	}
	return nil
}

// within says whether done closed in time.
func within(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
