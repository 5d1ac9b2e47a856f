package example_test

import (
	"encoding/json"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/deliver/stripesign"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
	"github.com/paidonce/paidonce/migrations"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const secret = "whsec_example"

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// shop is a database with the application and the test kit in it, and the webhook in front.
type shop struct {
	*pgtest.DB
	handler http.Handler
}

func open(t *testing.T) shop {
	t.Helper()
	db := pgtest.New(t)
	db.Exec(t, read(t, "app.sql"))
	db.Exec(t, read(t, "../kit/paidonce_test.sql"))
	pool, err := database.Open(t.Context(), db.Login(t, "paidonce_edge"), database.Options{MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	handler, err := webhook.New(webhook.Options{Secrets: []string{secret}, DB: pool, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return shop{db, handler}
}

// deliver builds an event with the test kit and posts it, signed.
func (s shop) deliver(t *testing.T, build string) string {
	t.Helper()
	body := pgtest.One[string](t, s.DB, "select ("+build+")::text")
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)).WithContext(t.Context())
	request.Header.Set(stripesign.Header, stripesign.Sign([]byte(body), secret, time.Now()))
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, request)
	var answer struct{ Outcome string }
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &answer), recorder.Body.String())
	return http.StatusText(recorder.Code) + " " + answer.Outcome
}

const (
	subscribed = `paidonce_test.event('customer.subscription.created', paidonce_test.subscription('sub_1', 'cus_1', 'active', '{price_pro}'), id => 'evt_sub')`
	checkout   = `paidonce_test.event('checkout.session.completed', paidonce_test.checkout_session('cs_1', 'cus_1', 'ada', 'subscription'))`
	paid       = `paidonce_test.event('invoice.paid', paidonce_test.invoice('in_1', 'cus_1'))`
	refunded   = `paidonce_test.event('charge.refunded', '{"id": "ch_1", "customer": "cus_1"}', created => '2026-01-15', id => 'evt_refund')`
	workspaces = `select coalesce(string_agg(concat_ws(' ', owner, plan, seats, open), ', '), 'none') from app.workspaces`
	letters    = `select coalesce(string_agg(idempotency_key, ', ' order by id), 'none') from paidonce.outbox where action like 'email.%'`
)

func TestApp(t *testing.T) {
	t.Parallel()

	t.Run("given the application behind the webhook when its events arrive then it parks, enqueues and fails as written", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		s.Exec(t, "insert into app.books values ('2026-01-01', true)")

		require.Equal(t, "OK parked", s.deliver(t, subscribed), "its customer belongs to nobody yet")
		require.Equal(t, "none", pgtest.One[string](t, s.DB, workspaces))
		require.Equal(t, "OK processed", s.deliver(t, checkout))
		pgtest.RunDue(t, s.Pool)
		require.Equal(t, "ada price_pro 1 t", pgtest.One[string](t, s.DB, workspaces), "it has run by itself")
		require.Equal(t, "OK processed", s.deliver(t, paid))
		require.Equal(t, "welcome:sub_1, receipt:in_1", pgtest.One[string](t, s.DB, letters))

		require.Equal(t, "Internal Server Error failed", s.deliver(t, refunded), "the books are closed")
		require.Zero(t, pgtest.One[int](t, s.DB, "select count(*) from app.bookings"))
		require.Equal(t, "event_failed", pgtest.One[string](t, s.DB, "select string_agg(check_name, ',') from paidonce.audit"))
		s.Exec(t, "update app.books set closed = false")
		require.Equal(t, "OK processed", s.deliver(t, refunded), "Stripe's next try")
		require.Equal(t, 1, pgtest.One[int](t, s.DB, "select count(*) from app.bookings"))
	})
}

func TestUpgrade(t *testing.T) {
	t.Parallel()

	t.Run("given the application when the kit's migrations are applied over it then its table, effects and registrations are as they were", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		require.Equal(t, "OK parked", s.deliver(t, subscribed))
		s.Exec(t, "select paidonce.off('charge.refunded', 'app.book_refund(jsonb)')")
		s.Exec(t, "update paidonce.settings set user_id_metadata_key = 'app_user'")
		const kept = `select md5(string_agg(h::text, ',' order by h.position) || (select s::text from paidonce.settings as s)) from paidonce.handlers as h`
		before := pgtest.One[string](t, s.DB, kept)

		files, err := fs.Glob(migrations.FS, "*.up.sql")
		require.NoError(t, err)
		for _, file := range files {
			sql, err := fs.ReadFile(migrations.FS, file)
			require.NoError(t, err)
			s.Exec(t, string(sql))
		}
		require.Equal(t, before, pgtest.One[string](t, s.DB, kept))
		require.Equal(t, "OK processed", s.deliver(t, checkout))
		pgtest.RunDue(t, s.Pool)
		require.Equal(t, "ada price_pro 1 t", pgtest.One[string](t, s.DB, workspaces), "what waited runs under the new version")
	})

	t.Run("given a registered function that is gone when its event comes then it is kept as failed and names the function", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		s.Exec(t, "drop function app.receipt(jsonb)")
		require.Equal(t, "Internal Server Error failed", s.deliver(t, paid))
		require.Equal(t, "42883 true", pgtest.One[string](t, s.DB, "select sqlstate || ' ' || (error like '%app.receipt(jsonb)%') from paidonce.events"))
	})
}

func TestKit(t *testing.T) {
	t.Parallel()

	t.Run("given a database that takes live events when the test kit is applied then it refuses", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		db.Exec(t, "update paidonce.settings set livemode = true")
		_, err := db.Pool.Exec(t.Context(), read(t, "../kit/paidonce_test.sql"))
		require.ErrorContains(t, err, "no business in a database that takes live ones")
	})

	t.Run("given the kit's migrations when they are read then the test kit is no part of them", func(t *testing.T) {
		t.Parallel()
		files, err := fs.Glob(migrations.FS, "*.sql")
		require.NoError(t, err)
		for _, file := range files {
			sql, err := fs.ReadFile(migrations.FS, file)
			require.NoError(t, err)
			require.NotContains(t, string(sql), "paidonce_test", file)
		}
	})
}
