package webhook

import (
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts deliveries. A nil or zero Metrics counts nothing; one Metrics may serve several handlers.
type Metrics struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	retries   prometheus.Counter
}

// NewMetrics creates the handler's metrics and registers them.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "paidonce_webhook_requests_total",
			Help: "Deliveries answered, by outcome and HTTP status.",
		}, []string{"outcome", "code"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "paidonce_webhook_duration_seconds",
			Help:    "Time from the request's arrival to its answer, by outcome.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"outcome"}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "paidonce_webhook_database_retries_total",
			Help: "Database calls made again after a clash or a lost connection.",
		}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.durations, m.retries} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("webhook: metrics: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) observe(r result, took time.Duration) {
	if m == nil || m.requests == nil {
		return
	}
	m.requests.WithLabelValues(r.outcome, strconv.Itoa(r.status)).Inc()
	m.durations.WithLabelValues(r.outcome).Observe(took.Seconds())
}

func (m *Metrics) retry() {
	if m == nil || m.retries == nil {
		return
	}
	m.retries.Inc()
}
