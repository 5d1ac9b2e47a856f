package webhook_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/deliver/stripesign"
	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestDatabaseDown(t *testing.T) {
	t.Parallel()
	c, err := pgtest.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	name, err := pgtest.CreateDatabase(t.Context(), c, pgtest.Template{Kind: cluster.Plain, Migrated: true})
	require.NoError(t, err)
	pool := openPool(t, c.URL("postgres", name), 4)
	h := newHandler(t, webhook.Options{DB: pool})

	t.Run("given a database that is down when posted then 503, and once it is up again 200 and one row", func(t *testing.T) {
		require.NoError(t, c.Kill())
		start := time.Now()
		got := serve(t, h, signed(customerEvent("evt_1")))
		require.Equal(t, 503, got.Status)
		require.NotEmpty(t, got.Header.Get("Retry-After"))
		require.Less(t, time.Since(start), webhook.DefaultTimeout)

		require.NoError(t, c.Restart(t.Context()))
		require.Equal(t, "processed", serve(t, h, signed(customerEvent("evt_1"))).Outcome)
		var n int
		require.NoError(t, pool.QueryRow(t.Context(), "select count(*) from paidonce.events where event_id = 'evt_1'").Scan(&n))
		require.Equal(t, 1, n)
	})

	t.Run("given a database that crashed without a word and is up again when posted over the pool from before then 200", func(t *testing.T) {
		fill(t, pool, 4)
		require.NoError(t, c.Kill())
		require.NoError(t, c.Restart(t.Context()))
		fresh := newHandler(t, webhook.Options{DB: pool})
		require.Equal(t, "processed", serve(t, fresh, signed(customerEvent("evt_2"))).Outcome)
	})

	t.Run("given a database that comes up while a delivery waits when posted then 200", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address := listener.Addr().String()
		require.NoError(t, listener.Close())
		url := strings.Replace(c.URL("postgres", name), fmt.Sprintf("127.0.0.1:%d", c.Port()), address, 1)
		h := newHandler(t, webhook.Options{DB: openPool(t, url, 1)})

		done := make(chan reply)
		go func() { done <- serve(t, h, signed(customerEvent("evt_3"))) }()
		time.Sleep(50 * time.Millisecond)
		forward(t, address, fmt.Sprintf("127.0.0.1:%d", c.Port()))
		require.Equal(t, "processed", (<-done).Outcome)
	})
}

func TestLockHeld(t *testing.T) {
	t.Parallel()
	t.Run("given a customer locked by somebody when posted then 503 before the deadline, nothing left open, and 200 once it is free", func(t *testing.T) {
		db := pgtest.New(t)
		pool := openPool(t, db.URL("postgres"), 4)
		h := newHandler(t, webhook.Options{DB: pool})
		require.Equal(t, 200, serve(t, h, signed(customerEvent("evt_first"))).Status)

		tx, err := db.Pool.Begin(t.Context())
		require.NoError(t, err)
		defer func() { _ = tx.Rollback(context.Background()) }()
		tag, err := tx.Exec(t.Context(), "select from paidonce.customers where customer_id = 'cus_1' for update")
		require.NoError(t, err)
		require.EqualValues(t, 1, tag.RowsAffected())

		start := time.Now()
		var log logged
		logging := newHandler(t, webhook.Options{DB: pool, Logger: log.logger()})
		require.Equal(t, 503, serve(t, logging, signed(customerEvent("evt_second"))).Status)
		require.Less(t, time.Since(start), webhook.DefaultTimeout)
		require.Equal(t, "55P03", log.only(t)["sqlstate"], "the function's own lock_timeout, not the handler's deadline")
		require.EqualValues(t, 0, busy(t, db))
		require.EqualValues(t, 0, pgtest.One[int64](t, db, "select count(*) from paidonce.events where event_id = 'evt_second'"))

		require.NoError(t, tx.Rollback(t.Context()))
		require.Equal(t, "processed", serve(t, h, signed(customerEvent("evt_second"))).Outcome)
	})
}

func TestTransactionPooler(t *testing.T) {
	t.Parallel()
	t.Run("given a transaction pooler when 20 connections make 500 calls then every answer is 200 and every event is there once", func(t *testing.T) {
		db := pgtest.New(t)
		pool, err := database.Open(t.Context(), pgtest.PgBouncer(t, db), database.Options{PoolerMode: true, MaxConns: 20})
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		var log logged
		h := newHandler(t, webhook.Options{DB: pool, Logger: log.logger(), Timeout: 30 * time.Second})

		statuses := make([]int, 500)
		var group sync.WaitGroup
		for worker := range 20 {
			group.Go(func() {
				for i := worker; i < len(statuses); i += 20 {
					w := httptest.NewRecorder()
					h.ServeHTTP(w, signed(strings.ReplaceAll(customerEvent(fmt.Sprintf("evt_%d", i)), "cus_1", fmt.Sprintf("cus_%d", i%50))))
					statuses[i] = w.Code
				}
			})
		}
		group.Wait()
		for i, status := range statuses {
			require.Equal(t, 200, status, "call %d", i)
		}
		require.EqualValues(t, 500, events(t, db))
		require.NotContains(t, log.text(), "sqlstate")
	})
}

func TestSenderHangsUp(t *testing.T) {
	t.Parallel()
	t.Run("given a sender that hangs up while the database works when it is done then the event is taken", func(t *testing.T) {
		db := newStandIn(t)
		server := httptest.NewServer(newHandler(t, webhook.Options{DB: db.Pool}))
		defer server.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		body := `{"sleep":1,"returns":{"outcome":"processed"}}`
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set(stripesign.Header, stripesign.Sign([]byte(body), secret, time.Now()))
		_, err = server.Client().Do(r)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Eventually(t, func() bool {
			return pgtest.One[int64](t, db, "select count(*) from public.taken") == 1
		}, 5*time.Second, 50*time.Millisecond)
	})
}

// forward passes what comes in at one address on to another, until the test ends.
func forward(t *testing.T, from, to string) {
	t.Helper()
	listener, err := net.Listen("tcp", from)
	require.NoError(t, err)
	var group sync.WaitGroup
	t.Cleanup(group.Wait)
	// The test's context is over before its clean-up begins, so the wait has an end.
	context.AfterFunc(t.Context(), func() { _ = listener.Close() })
	group.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			context.AfterFunc(t.Context(), func() { _, _ = in.Close(), out.Close() })
			group.Go(func() { _, _ = io.Copy(out, in) })
			group.Go(func() { _, _ = io.Copy(in, out) })
		}
	})
}
