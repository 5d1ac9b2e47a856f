package webhook_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// standIn replaces the entry point by one that does what the event says, for what the real one does only in
// trouble. The server around it is real.
//
//	raise    raise this SQLSTATE …
//	times    … in the first so many calls only
//	die      end this connection in the first so many calls
//	sleep    wait so many seconds
//	returns  return this
const standIn = `
create sequence public.calls;
create table public.taken (body jsonb);
create function public.handle_stripe_event(jsonb) returns jsonb language plpgsql as $$
declare
    n constant bigint := nextval('public.calls');
begin
    perform pg_sleep(coalesce(($1 ->> 'sleep')::float8, 0));
    if n <= ($1 ->> 'die')::int then
        perform pg_terminate_backend(pg_backend_pid());
        perform pg_sleep(5); -- the signal ends this
    end if;
    if $1 ? 'raise' and n <= coalesce(($1 ->> 'times')::int, n) then
        raise exception 'said the server' using errcode = $1 ->> 'raise', detail = coalesce($1 ->> 'private', '');
    end if;
    insert into public.taken values ($1);
    return $1 -> 'returns';
end $$`

func newStandIn(t *testing.T) *pgtest.DB {
	t.Helper()
	db := pgtest.NewEmpty(t, cluster.Plain)
	db.Exec(t, standIn)
	return db
}

func calls(t *testing.T, db *pgtest.DB) int64 {
	t.Helper()
	return pgtest.One[int64](t, db, "select case when is_called then last_value else 0 end from public.calls")
}

func TestMapping(t *testing.T) {
	t.Parallel()
	db := newStandIn(t)

	for _, c := range []struct {
		state  string
		status int
	}{
		{"PO400", 400}, {"22P02", 400}, {"22P03", 400}, {"22P05", 400}, {"22003", 400}, {"54001", 400},
		{"40001", 503}, {"40P01", 503}, {"55P03", 503}, {"57014", 503}, {"53100", 503}, {"53200", 503}, {"53300", 503},
		{"08006", 503}, {"57P01", 503}, {"57P02", 503}, {"57P03", 503}, {"25006", 503}, {"42883", 503}, {"42501", 503},
		{"42P01", 503}, {"23505", 503}, {"P0001", 503}, {"PO404", 503}, {"XX000", 503},
	} {
		t.Run(fmt.Sprintf("given sqlstate %s when raised then %d", c.state, c.status), func(t *testing.T) {
			var log logged
			h := newHandler(t, webhook.Options{DB: db.Pool, Logger: log.logger()})
			got := serve(t, h, signed(`{"id":"evt_1","type":"a.b","raise":"`+c.state+`","private":"hush"}`))
			require.Equal(t, c.status, got.Status)
			require.NotContains(t, got.Error, "server")
			require.Equal(t, c.status == 503, got.Header.Get("Retry-After") != "")

			line := log.only(t)
			require.Equal(t, c.state, line["sqlstate"])
			require.Equal(t, "said the server", line["error"])
			require.Equal(t, "evt_1", line["event_id"])
			require.Equal(t, "a.b", line["event_type"])
			require.Equal(t, map[int]string{400: "WARN", 503: "ERROR"}[c.status], line["level"])
			require.NotContains(t, log.text(), "hush")
		})
	}

	for _, c := range []struct {
		returns, outcome string
		status           int
	}{
		{`{"outcome":"processed"}`, "processed", 200},
		{`{"outcome":"duplicate"}`, "duplicate", 200},
		{`{"outcome":"ignored"}`, "ignored", 200},
		{`{"outcome":"parked"}`, "parked", 200},
		{`{"outcome":"failed","error":"the effect's words","sqlstate":"23514"}`, "failed", 500},
		{`{"outcome":"postponed"}`, "", 503},
		{`{"outcome":""}`, "", 503},
		{`{"outcome":7}`, "", 503},
		{`{}`, "", 503},
		{`null`, "", 503},
		{`[]`, "", 503},
	} {
		t.Run("given the answer "+c.returns+fmt.Sprintf(" when returned then %d", c.status), func(t *testing.T) {
			var log logged
			h := newHandler(t, webhook.Options{DB: db.Pool, Logger: log.logger()})
			got := serve(t, h, signed(`{"id":"evt_1","returns":`+c.returns+`}`))
			require.Equal(t, c.status, got.Status)
			require.Equal(t, c.outcome, got.Outcome)
			require.Equal(t, c.status == 200, got.Received)
			require.Equal(t, c.status == 200, got.Error == "")
			require.NotContains(t, got.Error, "words")
			require.Equal(t, map[int]string{200: "INFO", 500: "ERROR", 503: "ERROR"}[c.status], log.only(t)["level"])
		})
	}

	t.Run("given no answer at all when the function returns null then 503", func(t *testing.T) {
		got := serve(t, newHandler(t, webhook.Options{DB: db.Pool}), signed(`{"id":"evt_1"}`))
		require.Equal(t, 503, got.Status)
	})

	t.Run("given a database without the function when posted then 503 and the log says what to run", func(t *testing.T) {
		var log logged
		h := newHandler(t, webhook.Options{DB: pgtest.NewEmpty(t, cluster.Plain).Pool, Logger: log.logger()})
		require.Equal(t, 503, serve(t, h, signed(anEvent)).Status)
		require.Contains(t, log.only(t)["hint"], "migrate up")
	})
}

func TestRetries(t *testing.T) {
	t.Parallel()
	const done = `"returns":{"outcome":"processed"}`

	for _, state := range []string{"40001", "40P01", "08006", "57P01", "57P02", "57P03"} {
		t.Run("given sqlstate "+state+" twice when posted then the third call is answered", func(t *testing.T) {
			t.Parallel()
			db := newStandIn(t)
			var log logged
			h := newHandler(t, webhook.Options{DB: db.Pool, Logger: log.logger()})
			got := serve(t, h, signed(`{"raise":"`+state+`","times":2,`+done+`}`))
			require.Equal(t, 200, got.Status)
			require.EqualValues(t, 3, calls(t, db))
			require.EqualValues(t, 2, log.only(t)["retries"])
		})
	}

	for _, state := range []string{"55P03", "57014", "53300", "PO400", "22P02", "42883", "P0001"} {
		t.Run("given sqlstate "+state+" when posted then it is not tried again", func(t *testing.T) {
			t.Parallel()
			db := newStandIn(t)
			_ = serve(t, newHandler(t, webhook.Options{DB: db.Pool}), signed(`{"raise":"`+state+`"}`))
			require.EqualValues(t, 1, calls(t, db))
		})
	}

	t.Run("given a clash that does not end when posted then 503 after ten calls, within two seconds", func(t *testing.T) {
		t.Parallel()
		db := newStandIn(t)
		start := time.Now()
		got := serve(t, newHandler(t, webhook.Options{DB: db.Pool}), signed(`{"raise":"40001"}`))
		require.Equal(t, 503, got.Status)
		require.EqualValues(t, 10, calls(t, db))
		require.Less(t, time.Since(start), 2*time.Second)
	})

	t.Run("given a clash that does not end and little time when posted then 503 within that time", func(t *testing.T) {
		t.Parallel()
		db := newStandIn(t)
		start := time.Now()
		got := serve(t, newHandler(t, webhook.Options{DB: db.Pool, Timeout: 100 * time.Millisecond}), signed(`{"raise":"40001"}`))
		require.Equal(t, 503, got.Status)
		require.Less(t, calls(t, db), int64(10))
		require.Less(t, time.Since(start), 500*time.Millisecond)
	})

	t.Run("given a connection that dies during the call when posted then another one takes over", func(t *testing.T) {
		t.Parallel()
		db := newStandIn(t)
		got := serve(t, newHandler(t, webhook.Options{DB: db.Pool}), signed(`{"die":2,`+done+`}`))
		require.Equal(t, 200, got.Status)
		require.EqualValues(t, 3, calls(t, db))
		require.EqualValues(t, 1, pgtest.One[int64](t, db, "select count(*) from public.taken"))
	})

	t.Run("given a pool whose idle connections have all died when posted then 200", func(t *testing.T) {
		t.Parallel()
		db := newStandIn(t)
		pool := openPool(t, db.URL("postgres"), 9)
		fill(t, pool, 9)
		_, err := db.Superuser(t).Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and application_name = 'paidonce'`)
		require.NoError(t, err)
		got := serve(t, newHandler(t, webhook.Options{DB: pool}), signed(`{`+done+`}`))
		require.Equal(t, 200, got.Status)
	})
}

func TestDeadline(t *testing.T) {
	t.Parallel()

	t.Run("given a call that takes too long when posted then 503 in time and the server stops working on it", func(t *testing.T) {
		t.Parallel()
		db := newStandIn(t)
		pool := openPool(t, db.URL("postgres"), 2)
		var log logged
		h := newHandler(t, webhook.Options{DB: pool, Timeout: 300 * time.Millisecond, Logger: log.logger()})
		start := time.Now()
		got := serve(t, h, signed(`{"id":"evt_1","sleep":30}`))
		require.Equal(t, http.StatusServiceUnavailable, got.Status)
		require.Less(t, time.Since(start), 2*time.Second)
		require.Contains(t, log.only(t)["error"], "in time")
		require.Eventually(t, func() bool { return busy(t, db) == 0 }, 5*time.Second, 50*time.Millisecond)
	})

	t.Run("given a pool with every connection taken when posted then 503 in time", func(t *testing.T) {
		t.Parallel()
		db := newStandIn(t)
		pool := openPool(t, db.URL("postgres"), 1)
		held, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		defer held.Release()
		start := time.Now()
		got := serve(t, newHandler(t, webhook.Options{DB: pool, Timeout: 200 * time.Millisecond}), signed(`{}`))
		require.Equal(t, http.StatusServiceUnavailable, got.Status)
		require.Less(t, time.Since(start), time.Second)
		require.EqualValues(t, 0, calls(t, db))
	})
}
