package server

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// RegisterPool adds gauges that show whether deliveries are waiting for a connection.
func RegisterPool(registry prometheus.Registerer, pool *pgxpool.Pool) error {
	for name, gauge := range map[string]struct {
		help  string
		value func(*pgxpool.Stat) float64
	}{
		"paidonce_db_connections_in_use": {"Connections that are working now.", func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) }},
		"paidonce_db_connections_open":   {"Connections that are open now.", func(s *pgxpool.Stat) float64 { return float64(s.TotalConns()) }},
		"paidonce_db_connections_max":    {"Connections that may be open.", func(s *pgxpool.Stat) float64 { return float64(s.MaxConns()) }},
	} {
		err := registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: gauge.help},
			func() float64 { return gauge.value(pool.Stat()) }))
		if err != nil {
			return err
		}
	}
	return registry.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "paidonce_db_connection_waits_total",
		Help: "Acquisitions that found no free connection and waited.",
	}, func() float64 { return float64(pool.Stat().EmptyAcquireCount()) }))
}
