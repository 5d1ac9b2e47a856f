package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/deliver/stripesign"
)

// loose fails like a driver that repeats in its error what it was given.
type loose struct{}

func (loose) QueryRow(_ context.Context, sql string, _ ...any) pgx.Row { return looseRow{sql} }

type looseRow struct{ sql string }

func (l looseRow) Scan(...any) error {
	return fmt.Errorf("cannot run %s at postgres://app:hunter2@db/app with whsec_abc", l.sql)
}

func TestLog(t *testing.T) {
	t.Parallel()
	db := newStandIn(t)

	t.Run("given a delivery that is taken when logged then one line has everything but the payload", func(t *testing.T) {
		var log logged
		h := newHandler(t, webhook.Options{DB: db.Pool, Logger: log.logger()})
		body := `{"id":"evt_sent","type":"a.sent","card":"4242","returns":{"outcome":"processed","event_id":"evt_1","event_type":"a.b","attempt":3}}`
		header := stripesign.Sign([]byte(body), secret, time.Now())
		require.Equal(t, 200, serve(t, h, unsigned(body, header)).Status)
		line := log.only(t)
		require.Equal(t, "INFO", line["level"])
		require.Equal(t, "evt_1", line["event_id"], "the database's word goes before ours")
		require.Equal(t, "a.b", line["event_type"])
		require.Equal(t, "processed", line["outcome"])
		require.EqualValues(t, 200, line["status"])
		require.EqualValues(t, 3, line["attempt"])
		require.EqualValues(t, 0, line["retries"])
		require.Positive(t, line["duration"])
		for _, private := range []string{"4242", secret, header, header[len(header)-10:]} {
			require.NotContains(t, log.text(), private)
		}
	})

	t.Run("given a body that is not what was signed when logged then the reason is there and nothing that the sender made up", func(t *testing.T) {
		var log logged
		h := newHandler(t, webhook.Options{Logger: log.logger()})
		header := stripesign.Sign([]byte("other"), secret, time.Now())
		require.Equal(t, 400, serve(t, h, unsigned(`{"id":"evt_made_up","type":"a.made.up"}`, header)).Status)
		line := log.only(t)
		require.Equal(t, "WARN", line["level"])
		require.Equal(t, "signature does not match", line["reason"])
		require.NotContains(t, log.text(), "made")
		require.NotContains(t, log.text(), header[len(header)-10:])
	})

	t.Run("given line breaks in an event's id when logged then it stays one line", func(t *testing.T) {
		var log logged
		h := newHandler(t, webhook.Options{DB: db.Pool, Logger: log.logger()})
		body := `{"id":"evt_1\nlevel=ERROR","type":"` + strings.Repeat("x", 5000) + `","raise":"PO400"}`
		require.Equal(t, 400, serve(t, h, signed(body)).Status)
		line := log.only(t)
		require.Equal(t, "evt_1\nlevel=ERROR", line["event_id"])
		require.Less(t, len(line["event_type"].(string)), 210)
	})

	t.Run("given an error that quotes passwords and SQL when answered then the sender gets none of it and the log no password", func(t *testing.T) {
		var log logged
		w := httptest.NewRecorder()
		newHandler(t, webhook.Options{DB: loose{}, Logger: log.logger()}).ServeHTTP(w, signed(anEvent))
		require.Equal(t, 503, w.Code)
		require.Equal(t, `{"error":"temporarily unavailable"}`, strings.TrimSpace(w.Body.String()))
		require.NotContains(t, log.text(), "hunter2")
		require.NotContains(t, log.text(), "whsec_abc")
	})
}

func TestMetrics(t *testing.T) {
	t.Parallel()

	t.Run("given deliveries of several ends when scraped then each is counted by outcome and code", func(t *testing.T) {
		db := newStandIn(t)
		registry := prometheus.NewRegistry()
		metrics, err := webhook.NewMetrics(registry)
		require.NoError(t, err)
		h := newHandler(t, webhook.Options{DB: db.Pool, Metrics: metrics})
		serve(t, h, signed(`{"raise":"40001","times":2,"returns":{"outcome":"processed"}}`))
		serve(t, h, signed(`{"returns":{"outcome":"processed"}}`))
		serve(t, h, signed(`{"returns":{"outcome":"strange"}}`))
		serve(t, h, signed(`{"raise":"55P03"}`))
		serve(t, h, unsigned(`{}`))
		r := signed(`{}`)
		r.Method = http.MethodGet
		serve(t, h, r)

		got := map[string]float64{}
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			for _, m := range family.GetMetric() {
				key := family.GetName()
				for _, label := range m.GetLabel() {
					key += " " + label.GetValue()
				}
				got[key] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		require.Equal(t, map[string]float64{
			"paidonce_webhook_requests_total 200 processed":   2,
			"paidonce_webhook_requests_total 503 unknown":     1,
			"paidonce_webhook_requests_total 503 unavailable": 1,
			"paidonce_webhook_requests_total 400 refused":     1,
			"paidonce_webhook_requests_total 405 refused":     1,
			"paidonce_webhook_duration_seconds processed":     2,
			"paidonce_webhook_duration_seconds unknown":       1,
			"paidonce_webhook_duration_seconds unavailable":   1,
			"paidonce_webhook_duration_seconds refused":       2,
			"paidonce_webhook_database_retries_total":         2,
		}, got)
	})

	t.Run("given the zero Metrics or none when an event is posted then it is answered", func(t *testing.T) {
		db := newStandIn(t)
		for _, m := range []*webhook.Metrics{nil, {}} {
			h := newHandler(t, webhook.Options{DB: db.Pool, Metrics: m})
			require.Equal(t, 200, serve(t, h, signed(`{"raise":"40001","times":1,"returns":{"outcome":"processed"}}`)).Status)
		}
	})

	t.Run("given one registry when metrics are made twice then the second is an error and not a panic", func(t *testing.T) {
		registry := prometheus.NewRegistry()
		_, err := webhook.NewMetrics(registry)
		require.NoError(t, err)
		_, err = webhook.NewMetrics(registry)
		require.Error(t, err)
	})
}
