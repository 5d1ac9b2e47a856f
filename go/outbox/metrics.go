package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/paidonce/paidonce/go/internal/again"
)

// backlogEvery is how often the gauges of the backlog are brought up to date.
const backlogEvery = 15 * time.Second

// Metrics counts what workers do. A nil or zero Metrics counts nothing; one Metrics may serve several workers.
type Metrics struct {
	outcomes   *prometheus.CounterVec
	durations  *prometheus.HistogramVec
	errors     *prometheus.CounterVec
	wakeUps    prometheus.Counter
	connects   prometheus.Counter
	listenErrs prometheus.Counter
	listening  prometheus.Gauge
	rows       *prometheus.GaugeVec
	oldest     prometheus.Gauge
}

// NewMetrics creates the workers' metrics and registers them.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "paidonce_outbox_attempts_total",
			Help: "Attempts, by the pattern of the sender and by what came of them: sent, retry, dead, release (given back untried), late (the lease was lost).",
		}, []string{"sender", "outcome"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "paidonce_outbox_send_duration_seconds",
			Help:    "Time that a sender took, by its pattern.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"sender"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "paidonce_outbox_database_errors_total",
			Help: "Calls of the database that failed and were made again: claim, settle, backlog, listen.",
		}, []string{"call"}),
		wakeUps: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "paidonce_outbox_wakeups_total", Help: "Notices that rows may have come.",
		}),
		connects: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "paidonce_outbox_listener_connects_total", Help: "Times that the LISTEN connection was made; each after the first is a reconnect.",
		}),
		listenErrs: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "paidonce_outbox_listener_errors_total", Help: "Times that the LISTEN connection failed or was found dead.",
		}),
		listening: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "paidonce_outbox_listening", Help: "1 while LISTEN is in place, 0 while the worker only polls.",
		}),
		rows: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "paidonce_outbox_rows", Help: "Rows in the table: pending (all that are not over), due, leased, dead.",
		}, []string{"state"}),
		oldest: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "paidonce_outbox_oldest_pending_seconds", Help: "Age of the oldest pending row.",
		}),
	}
	for _, c := range []prometheus.Collector{
		m.outcomes, m.durations, m.errors, m.wakeUps, m.connects, m.listenErrs, m.listening, m.rows, m.oldest,
	} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("outbox: metrics: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) on() bool { return m != nil && m.outcomes != nil }

func (m *Metrics) settled(res result) {
	if !m.on() {
		return
	}
	m.outcomes.WithLabelValues(res.pattern, res.outcome).Inc()
	if res.took > 0 {
		m.durations.WithLabelValues(res.pattern).Observe(res.took.Seconds())
	}
}

func (m *Metrics) databaseError(call string) {
	if m.on() {
		m.errors.WithLabelValues(call).Inc()
	}
}

func (m *Metrics) wokenUp() {
	if m.on() {
		m.wakeUps.Inc()
	}
}

func (m *Metrics) connected() {
	if m.on() {
		m.connects.Inc()
	}
}

func (m *Metrics) listenError() {
	if m.on() {
		m.listenErrs.Inc()
	}
}

func (m *Metrics) listens(yes bool) {
	if !m.on() {
		return
	}
	m.listening.Set(0)
	if yes {
		m.listening.Set(1)
	}
}

// watchBacklog keeps the gauges of the table up to date until ctx ends.
func (r *run) watchBacklog(ctx context.Context) {
	if !r.options.Metrics.on() {
		return
	}
	for {
		if err := r.readBacklog(ctx); err != nil && ctx.Err() == nil {
			r.trouble.Report("backlog", err)
		} else {
			r.trouble.Over("backlog")
		}
		if !again.Sleep(ctx, backlogEvery) {
			return
		}
	}
}

func (r *run) readBacklog(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var pending, due, leased, dead int64
	var oldest float64
	err := r.options.DB.QueryRow(ctx, `select pending, due, leased, dead, oldest_seconds from paidonce.outbox_backlog()`).
		Scan(&pending, &due, &leased, &dead, &oldest)
	if err != nil {
		return err
	}
	m := r.options.Metrics
	for state, n := range map[string]int64{"pending": pending, "due": due, "leased": leased, "dead": dead} {
		m.rows.WithLabelValues(state).Set(float64(n))
	}
	m.oldest.Set(oldest)
	return nil
}
