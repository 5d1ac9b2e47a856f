package outbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// ask writes rows as an effect does, with their notice.
func ask(t testing.TB, db *pgtest.DB, action string, keys ...string) {
	t.Helper()
	for _, key := range keys {
		db.Exec(t, `select paidonce.enqueue_once($1::text, null, $2::text, jsonb_build_object('key', $1::text))`, key, action)
	}
}

// askMany writes n rows at once and says what their keys begin with.
func askMany(t testing.TB, db *pgtest.DB, action string, n int) {
	t.Helper()
	db.Exec(t, `
		select paidonce.enqueue_once(concat($1::text, ':', n), null, $1::text, jsonb_build_object('n', n, 'text', repeat('x', n % 50)))
		from generate_series(1, $2::integer) as n`, action, n)
}

// log collects what a worker says.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// sent remembers what a sender was handed.
type sent struct {
	mu  sync.Mutex
	all []outbox.Action
	at  []time.Time
}

func (s *sent) add(a outbox.Action) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all, s.at = append(s.all, a), append(s.at, time.Now())
	return len(s.all)
}

func (s *sent) list() []outbox.Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]outbox.Action(nil), s.all...)
}

// keys counts the calls by key.
func (s *sent) keys() map[string]int {
	counts := map[string]int{}
	for _, a := range s.list() {
		counts[a.IdempotencyKey]++
	}
	return counts
}

func (s *sent) accept(_ context.Context, a outbox.Action) (json.RawMessage, error) {
	s.add(a)
	return json.RawMessage(`{"ok": true}`), nil
}

// meter knows how many were in a place at once.
type meter struct {
	mu        sync.Mutex
	now, most int
}

func (m *meter) enter() (leave func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now++
	m.most = max(m.most, m.now)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.now--
	}
}

func (m *meter) highest() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most
}

// working is a worker that runs.
type working struct {
	log      *log
	registry *prometheus.Registry
	cancel   context.CancelFunc
	done     chan error
}

// start runs a worker until stop, or the end of the test. It polls often, and its rows come back soon.
func start(t testing.TB, db *pgtest.DB, o outbox.Options, handle func(*outbox.Worker)) *working {
	t.Helper()
	r := &working{log: &log{}, registry: prometheus.NewRegistry(), done: make(chan error, 1)}
	if o.DB == nil {
		o.DB = db.Pool
	}
	if o.PollInterval == 0 {
		o.PollInterval = 20 * time.Millisecond
	}
	if o.Policy.BackoffBase == 0 {
		o.Policy.BackoffBase = time.Millisecond
	}
	o.Logger = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	o.Metrics, err = outbox.NewMetrics(r.registry)
	require.NoError(t, err)
	w, err := outbox.New(o)
	require.NoError(t, err)
	handle(w)
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.WithoutCancel(t.Context()))
	go func() { r.done <- w.Run(ctx) }()
	t.Cleanup(func() { _ = r.stop(t) })
	return r
}

// stop ends the worker and returns what Run did. A second call does nothing.
func (r *working) stop(t testing.TB) error {
	t.Helper()
	r.cancel()
	select {
	case err := <-r.done:
		r.done <- nil
		return err
	case <-time.After(30 * time.Second):
		require.Fail(t, "the worker does not stop", r.log.String())
		return nil
	}
}

// metric is the value of a counter or gauge, of all its labels together where none are named.
func (r *working) metric(t testing.TB, name string, labels ...string) float64 {
	t.Helper()
	families, err := r.registry.Gather()
	require.NoError(t, err)
	total := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			fits := len(labels) == 0
			for _, l := range m.GetLabel() {
				for _, want := range labels {
					fits = fits || l.GetValue() == want
				}
			}
			if fits {
				total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return total
}

// eventually waits for what another goroutine or process brings about.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 20*time.Second, 5*time.Millisecond, what)
}

func count(t testing.TB, db *pgtest.DB, where string, args ...any) int64 {
	t.Helper()
	return pgtest.One[int64](t, db, "select count(*) from paidonce.outbox where "+where, args...)
}

func allSent(t testing.TB, db *pgtest.DB) func() bool {
	t.Helper()
	return func() bool { return count(t, db, "status <> 'sent'") == 0 }
}
