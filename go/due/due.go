// Package due runs what has become due in the database: events that waited for their customer's user, purchases
// that waited for a price. A webhook's delivery only marks it, so that it stays short however much has waited;
// a Runner then calls select paidonce.run_due(1) until nothing is left, each item in a transaction of its own.
//
// The outbox's worker is a Runner, too, and a webhook.Handler can be one. Any number of them may run.
package due

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/paidonce/paidonce/go/internal/again"
)

// What a Runner's field is when left zero.
const (
	DefaultPollInterval = time.Second
	DefaultConcurrency  = 2
)

const (
	runSQL = "select paidonce.run_due(1)"
	// callTimeout bounds one item: an effect, which waits for locks for a few seconds at most.
	callTimeout = time.Minute
	// absentPause is how long to leave a schema alone that is older than due work.
	absentPause = 30 * time.Second
)

// Querier is the one thing that a Runner asks of a database. *pgxpool.Pool is one.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Runner runs due work. DB is required; its login needs the rights of role paidonce_edge or paidonce_worker.
type Runner struct {
	DB           Querier
	Logger       *slog.Logger  // default slog.Default()
	PollInterval time.Duration // how often to look for what no Wake told of
	Concurrency  int           // most items, and so connections, at once

	mu    sync.Mutex
	wakes []chan struct{} // of the loops that run; one slot each
}

// Wake makes a Runner that runs look at once. It never waits.
func (r *Runner) Wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, wake := range r.wakes {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// Run runs due work until ctx ends, and then returns nil. An item that it has to break off is undone, and stays
// due. What goes wrong is logged and tried again, with longer and longer pauses.
func (r *Runner) Run(ctx context.Context) error {
	if r.DB == nil {
		return errors.New("due: no database")
	}
	if r.PollInterval < 0 || r.Concurrency < 0 {
		return errors.New("due: poll interval and concurrency cannot be negative")
	}
	log := r.Logger
	if log == nil {
		log = slog.Default()
	}
	s := &session{Runner: r, log: log, trouble: &again.Trouble{Log: log, Who: "due"}, interval: r.PollInterval}
	if s.interval == 0 {
		s.interval = DefaultPollInterval
	}
	concurrency := r.Concurrency
	if concurrency == 0 {
		concurrency = DefaultConcurrency
	}
	var loops sync.WaitGroup
	for range concurrency {
		wake := r.enter()
		loops.Go(func() {
			defer r.leave(wake)
			s.loop(ctx, wake)
		})
	}
	loops.Wait()
	return nil
}

func (r *Runner) enter() chan struct{} {
	wake := make(chan struct{}, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wakes = append(r.wakes, wake)
	return wake
}

func (r *Runner) leave(wake chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.wakes {
		if r.wakes[i] == wake {
			r.wakes = append(r.wakes[:i], r.wakes[i+1:]...)
			return
		}
	}
}

// session is one run of a Runner.
type session struct {
	*Runner
	log      *slog.Logger
	trouble  *again.Trouble
	interval time.Duration
	absent   sync.Once
}

// loop runs items until ctx ends: the next at once while there are any.
func (s *session) loop(ctx context.Context, wake <-chan struct{}) {
	failures := 0
	active := time.Now()
	for ctx.Err() == nil {
		ran, err := s.once(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case absent(err):
			s.absent.Do(func() {
				s.log.Warn("due: the schema is older than this program and knows no due work: run `paidonce migrate up`", "every", absentPause)
			})
			again.Sleep(ctx, absentPause)
			continue
		case err != nil:
			s.trouble.Report("run_due", err)
			again.Sleep(ctx, again.Retry(failures)) // not cut short by a wake-up, which may come thousands of times
			failures++
			continue
		}
		failures = 0
		s.trouble.Over("run_due")
		if ran > 0 {
			active = time.Now()
			continue
		}
		woken, ok := again.Wait(ctx, again.Poll(s.interval, time.Since(active)), wake)
		if !ok {
			return
		}
		if woken {
			active = time.Now()
		}
	}
}

func (s *session) once(ctx context.Context) (ran int, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err = s.DB.QueryRow(ctx, runSQL).Scan(&ran)
	return ran, err
}

// absent says that there is no such function; an error from within it names another one.
func absent(err error) bool {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return false
	}
	return pgErr.Where == "" && (pgErr.Code == "42883" || pgErr.Code == "3F000")
}
