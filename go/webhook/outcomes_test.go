package webhook_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestOutcomes(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	db.Exec(t, `create schema app`)
	db.Exec(t, `create function app.act(event jsonb) returns void language plpgsql set search_path = '' as $$
		begin
			case event #>> '{data,object,do}'
				when 'fail' then raise exception 'out of stock: hush' using errcode = 'PX001', detail = 'private';
				when 'park' then raise exception 'not yet' using errcode = 'PO404';
				else perform paidonce.enqueue(event, 'email.welcome', '{}');
			end case;
		end $$`)
	db.Exec(t, `select paidonce.on('app.test', 'app.act(jsonb)')`)
	body := func(id, do string) string {
		return fmt.Sprintf(`{"id":%q,"type":"app.test","created":1750000000,"data":{"object":{"id":"obj_%s","do":%q}}}`, id, id, do)
	}
	h := newHandler(t, webhook.Options{DB: db.Pool})

	t.Run("given an event when posted twice then processed and duplicate, one effect", func(t *testing.T) {
		for _, outcome := range []string{"processed", "duplicate"} {
			got := serve(t, h, signed(body("evt_ok", "work")))
			require.Equal(t, 200, got.Status)
			require.True(t, got.Received)
			require.Equal(t, outcome, got.Outcome)
		}
		require.EqualValues(t, 1, pgtest.One[int64](t, db, "select count(*) from paidonce.outbox where event_id = 'evt_ok'"))
	})

	t.Run("given an effect that raises when posted then 500, nothing of it in the answer, all of it in the log", func(t *testing.T) {
		var log logged
		h := newHandler(t, webhook.Options{DB: db.Pool, Logger: log.logger()})
		got := serve(t, h, signed(body("evt_fail", "fail")))
		require.Equal(t, 500, got.Status)
		require.Equal(t, "failed", got.Outcome)
		require.Equal(t, "effect failed", got.Error)
		line := log.only(t)
		require.Equal(t, "ERROR", line["level"])
		require.Equal(t, "PX001", line["sqlstate"])
		require.Equal(t, "out of stock: hush", line["error"])
		require.EqualValues(t, 1, line["attempt"])
		require.NotContains(t, log.text(), "private")
	})

	t.Run("given an effect that says not yet when posted then 200 parked", func(t *testing.T) {
		got := serve(t, h, signed(body("evt_park", "park")))
		require.Equal(t, 200, got.Status)
		require.Equal(t, "parked", got.Outcome)
	})

	for _, kind := range []string{"balance.available", "foo.bar"} {
		t.Run("given the type "+kind+" that nobody handles when posted then 200 ignored and no outbox row", func(t *testing.T) {
			got := serve(t, h, signed(`{"id":"evt_`+kind+`","type":"`+kind+`","data":{"object":{"object":"balance"}}}`))
			require.Equal(t, 200, got.Status)
			require.Equal(t, "ignored", got.Outcome)
			require.EqualValues(t, 0, pgtest.One[int64](t, db, "select count(*) from paidonce.outbox where event_id = $1", "evt_"+kind))
		})
	}

	t.Run("given a thin event, which has no data.object, when posted then 200 and a row", func(t *testing.T) {
		var log logged
		h := newHandler(t, webhook.Options{DB: db.Pool, Logger: log.logger()})
		got := serve(t, h, signed(`{"id":"evt_thin","object":"v2.core.event","type":"v1.billing.meter.error_report_triggered","related_object":{"id":"mtr_1"}}`))
		require.Equal(t, 200, got.Status)
		require.Equal(t, got.Outcome, log.only(t)["outcome"])
		require.Equal(t, got.Outcome, pgtest.One[string](t, db, "select status from paidonce.events where event_id = 'evt_thin'"))
	})

	for _, odd := range []string{
		`{}`, `{"object":"v2.core.event"}`, `{"type":"invoice.paid","data":{"object":{"id":"in_1"}}}`, `{"id":"evt_2","data":{"object":{"id":"in_1"}}}`,
		`{"id":"evt_3","type":"invoice.paid"}`, `{"id":"evt_4","type":"invoice.paid","data":{"object":"in_1"}}`,
		`{"id":"","type":"invoice.paid","data":{"object":{}}}`, `{"id":7,"type":"invoice.paid","data":{"object":{}}}`,
		`{"id":null,"type":null,"data":null}`, `{"id":"evt_5","type":"invoice.paid","data":[]}`,
	} {
		t.Run("given "+quote(odd)+" signed but no event when posted then 400, no row, one log line", func(t *testing.T) {
			var log logged
			before := events(t, db)
			got := serve(t, newHandler(t, webhook.Options{DB: db.Pool, Logger: log.logger()}), signed(odd))
			require.Equal(t, 400, got.Status)
			require.Equal(t, before, events(t, db))
			require.Equal(t, "WARN", log.only(t)["level"])
		})
	}

	for name, odd := range map[string]string{
		"the 2015 shape of request": `{"id":"evt_2015","type":"customer.created","request":"req_1","api_version":"2015-03-24","data":{"object":{"id":"cus_2015","object":"customer"}}}`,
		"a version of the future":   `{"id":"evt_2099","type":"customer.created","request":{"id":null,"idempotency_key":null},"api_version":"2099-01-01.zebra","created":4070908800,"data":{"object":{"id":"cus_2099","object":"customer"}}}`,
		"fields that nobody knows":  `{"id":"evt_odd","type":"customer.created","context":{"x":[1]},"reason":7,"pending_webhooks":"many","data":{"object":{"id":"cus_odd","object":"customer","new":{}}},"livemode":"maybe"}`,
	} {
		t.Run("given "+name+" when posted then 200", func(t *testing.T) {
			require.Equal(t, 200, serve(t, h, signed(odd)).Status)
		})
	}
}
