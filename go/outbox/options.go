package outbox

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/paidonce/paidonce/go/due"
)

// What an Options field is when left zero.
const (
	DefaultLease        = time.Minute
	DefaultPollInterval = time.Second
	DefaultBatch        = 500
	DefaultConcurrency  = 32
	DefaultDueWork      = due.DefaultConcurrency
	DefaultGrace        = 10 * time.Second
	DefaultHeartbeat    = 30 * time.Second
)

// Options configures a Worker. DB is required.
type Options struct {
	DB           *pgxpool.Pool // its login needs the rights of role paidonce_worker; two connections suffice, eight keep everything going at once
	ListenURL    string        // a direct or session connection to LISTEN on; only polls when empty
	Lease        time.Duration // how long a row is a worker's before others may have it
	PollInterval time.Duration // how often an idle worker looks for rows
	Batch        int           // most rows claimed or settled at once
	Concurrency  int           // most sends at once of each pattern that is registered; none takes another's
	DueWork      int           // most items of due work at once; as many connections less of the pool
	Policy       Policy        // of senders that state none
	Grace        time.Duration // at the end of Run, for the sends in flight
	Heartbeat    time.Duration // how often the LISTEN connection is proven to be alive
	Logger       *slog.Logger  // default slog.Default()
	Metrics      *Metrics      // none when nil
}

// Worker sends outbox rows and runs due work. Any number of them may work on one database.
type Worker struct {
	options  Options
	policy   Policy
	handlers []handler
	mistakes []error // of Handle, reported by Run
	log      *slog.Logger

	listenConfig *pgx.ConnConfig // nil without LISTEN
}

// handler is what is registered for one pattern.
type handler struct {
	pattern string
	send    Sender
	policy  Policy
}

// New makes a worker without senders, which only runs due work; see Handle.
func New(o Options) (*Worker, error) {
	if o.DB == nil {
		return nil, errors.New("outbox: no database")
	}
	if min(o.Lease, o.PollInterval, o.Grace, o.Heartbeat) < 0 || min(o.Batch, o.Concurrency, o.DueWork) < 0 || o.Batch > maxBatch {
		return nil, fmt.Errorf("outbox: options cannot be negative, and a batch is at most %d", maxBatch)
	}
	if err := o.Policy.check(); err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	o.Lease = either(o.Lease, DefaultLease)
	o.PollInterval = either(o.PollInterval, DefaultPollInterval)
	o.Batch = either(o.Batch, DefaultBatch)
	o.Concurrency = either(o.Concurrency, DefaultConcurrency)
	o.DueWork = either(o.DueWork, DefaultDueWork)
	o.Grace = either(o.Grace, DefaultGrace)
	o.Heartbeat = either(o.Heartbeat, DefaultHeartbeat)
	config, err := listenConfig(o.ListenURL)
	if err != nil {
		return nil, err
	}
	w := &Worker{options: o, policy: o.Policy.over(defaultPolicy), listenConfig: config, log: o.Logger}
	if w.log == nil {
		w.log = slog.Default()
	}
	return w, nil
}

func either[T comparable](value, instead T) T {
	var zero T
	if value == zero {
		return instead
	}
	return value
}

// maxBatch is the most that claim_outbox hands out.
const maxBatch = 10000

var patternForm = regexp.MustCompile(`^(\*|[a-z0-9_-]+(\.[a-z0-9_-]+)*(\.\*)?)$`)

// Handle registers the sender of an action ("email.welcome"), of a family ("email.*") or of all ("*"). The
// most specific pattern gets a row; rows that no pattern fits are left to other workers. Where several
// policies are given, a later one's fields go over an earlier one's. Call it before Run, which also reports
// what is wrong with the arguments.
func (w *Worker) Handle(pattern string, s Sender, policies ...Policy) {
	p := w.policy
	for _, more := range policies {
		if err := more.check(); err != nil {
			w.mistakes = append(w.mistakes, fmt.Errorf("%q: %w", pattern, err))
		}
		p = more.over(p)
	}
	switch {
	case !patternForm.MatchString(pattern):
		w.mistakes = append(w.mistakes, fmt.Errorf("%q is no pattern: expected an action such as email.welcome, a family such as email.*, or *", pattern))
	case s == nil:
		w.mistakes = append(w.mistakes, fmt.Errorf("%q has no sender", pattern))
	case slices.ContainsFunc(w.handlers, func(h handler) bool { return h.pattern == pattern }):
		w.mistakes = append(w.mistakes, fmt.Errorf("%q is registered twice", pattern))
	}
	if limit := w.longestSend(); p.Timeout > limit {
		w.log.Warn("outbox: the lease is short, so sends are given less time", "pattern", pattern, "timeout", p.Timeout, "cut_to", limit, "lease", w.options.Lease)
		p.Timeout = limit
	}
	w.handlers = append(w.handlers, handler{pattern: pattern, send: s, policy: p})
}

// longestSend is how long a send may take, so that its outcome is written down before the lease runs out.
func (w *Worker) longestSend() time.Duration { return w.options.Lease * 2 / 3 }
