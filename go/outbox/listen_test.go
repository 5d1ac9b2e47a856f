package outbox_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

const never = time.Hour // a poll interval that no test waits for

// asleep waits until a worker has stopped polling often, so that only a notice can make it look.
func asleep() { time.Sleep(2300 * time.Millisecond) }

func TestListen(t *testing.T) {
	t.Parallel()

	t.Run("given a worker that hardly polls when a row is committed then its notice brings it at once", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		var s sent
		r := start(t, db, outbox.Options{ListenURL: db.URL("postgres"), PollInterval: never}, func(w *outbox.Worker) { w.Handle("test.*", s.accept) })
		eventually(t, "it listens", func() bool { return r.metric(t, "paidonce_outbox_listening") == 1 })
		asleep()
		began := time.Now()
		ask(t, db, "test.a", "k1")
		eventually(t, "it is sent", allSent(t, db))
		require.Less(t, time.Since(began), time.Second)
		require.EqualValues(t, 1, r.metric(t, "paidonce_outbox_wakeups_total"))
	})

	t.Run("given transactions whose notice was left out because another gave one when they commit later then they are found soon", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		var s sent
		r := start(t, db, outbox.Options{ListenURL: db.URL("postgres"), PollInterval: never}, func(w *outbox.Worker) { w.Handle("test.*", s.accept) })
		eventually(t, "it listens", func() bool { return r.metric(t, "paidonce_outbox_listening") == 1 })
		asleep()
		first, err := db.Pool.Begin(t.Context())
		require.NoError(t, err)
		second, err := db.Pool.Begin(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() {
			_ = first.Rollback(context.Background())
			_ = second.Rollback(context.Background())
		})
		for i, tx := range []pgx.Tx{first, second} { // the first has the gate
			_, err := tx.Exec(t.Context(), "select paidonce.enqueue_once($1::text, null, 'test.a', '{}')", fmt.Sprint("k", i))
			require.NoError(t, err)
		}
		require.NoError(t, first.Commit(t.Context()))
		eventually(t, "the first is sent", func() bool { return len(s.list()) == 1 })
		time.Sleep(300 * time.Millisecond)
		require.NoError(t, second.Commit(t.Context()))
		began := time.Now()
		eventually(t, "the second is sent", func() bool { return len(s.list()) == 2 })
		require.Less(t, time.Since(began), time.Second)
		require.EqualValues(t, 1, r.metric(t, "paidonce_outbox_wakeups_total"), "only one notice was given")
	})

	t.Run("given a LISTEN connection that the server ends when rows come before it is back then they are sent once it is", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		var s sent
		r := start(t, db, outbox.Options{ListenURL: db.URL("postgres"), PollInterval: never}, func(w *outbox.Worker) { w.Handle("test.*", s.accept) })
		eventually(t, "it listens", func() bool { return r.metric(t, "paidonce_outbox_listening") == 1 })
		asleep()
		require.EqualValues(t, 1, pgtest.One[int64](t, db, `
			select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'paidonce listen' and datname = current_database()`))
		eventually(t, "that is noticed", func() bool { return r.metric(t, "paidonce_outbox_listening") == 0 })
		ask(t, db, "test.a", "k1")
		time.Sleep(200 * time.Millisecond)
		require.Empty(t, s.list(), "nobody listens")
		eventually(t, "it is sent", allSent(t, db))
		require.EqualValues(t, 2, r.metric(t, "paidonce_outbox_listener_connects_total"))
		require.EqualValues(t, 1, r.metric(t, "paidonce_outbox_listener_errors_total"))
		asleep()
		ask(t, db, "test.a", "k2")
		eventually(t, "and the new connection brings notices", allSent(t, db))
	})

	t.Run("given a LISTEN connection whose other end has vanished without a word when the heartbeat fails then it connects again and what came meanwhile is sent", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		hole, through := blackhole(t, db.URL("postgres"))
		var s sent
		r := start(t, db, outbox.Options{ListenURL: through, PollInterval: never, Heartbeat: 500 * time.Millisecond}, func(w *outbox.Worker) { w.Handle("test.*", s.accept) })
		eventually(t, "it listens", func() bool { return r.metric(t, "paidonce_outbox_listening") == 1 })
		asleep()
		connects := r.metric(t, "paidonce_outbox_listener_connects_total")
		require.EqualValues(t, 1, connects, "a healthy connection is left alone by the heartbeat")
		hole.swallow()
		ask(t, db, "test.a", "k1")
		eventually(t, "it is sent", allSent(t, db))
		require.EqualValues(t, 2, r.metric(t, "paidonce_outbox_listener_connects_total"))
		require.Contains(t, r.log.String(), "dead although nothing said so")
	})

	t.Run("given a transaction pooler when the worker starts then it warns, and rows are found by polling", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		pooled := pgtest.PgBouncer(t, db)
		own, err := database.Open(t.Context(), pooled, database.Options{PoolerMode: true})
		require.NoError(t, err)
		t.Cleanup(own.Close)
		var s sent
		r := start(t, db, outbox.Options{DB: own, ListenURL: pooled, PollInterval: 200 * time.Millisecond}, func(w *outbox.Worker) { w.Handle("test.*", s.accept) })
		eventually(t, "it warns", func() bool { return strings.Contains(r.log.String(), "LISTEN DOES NOT WORK HERE") })
		asleep()
		began := time.Now()
		ask(t, db, "test.a", "k1")
		eventually(t, "it is sent", allSent(t, db))
		require.Less(t, time.Since(began), time.Second)
		askMany(t, db, "test.b", 500)
		eventually(t, "many are sent, too", allSent(t, db))
		require.Zero(t, r.metric(t, "paidonce_outbox_listening"))
		require.Zero(t, r.metric(t, "paidonce_outbox_database_errors_total"))
	})

	t.Run("given a LISTEN address that nobody answers at when the worker starts then it polls and stops in order", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		var s sent
		r := start(t, db, outbox.Options{ListenURL: "postgres://u:hunter2@127.0.0.1:1/d"}, func(w *outbox.Worker) { w.Handle("test.*", s.accept) })
		ask(t, db, "test.a", "k1")
		eventually(t, "it is sent", allSent(t, db))
		eventually(t, "it is told", func() bool { return strings.Contains(r.log.String(), "call=listen") })
		require.NotContains(t, r.log.String(), "hunter2")
		require.NoError(t, r.stop(t))
	})
}

// The limit of a notice is 8000 bytes: one that carried any of the event would abort the event itself.
func TestNoticeIsConstant(t *testing.T) {
	t.Parallel()

	for name, text := range map[string]string{
		"2000 emoji":             strings.Repeat("🪙", 2000),
		"a description of 20 KB": strings.Repeat("d", 20<<10),
	} {
		t.Run("given "+name+" in an event when it is handed in on every path that notifies then it commits, the notice is empty, and it is sent", func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			db.Exec(t, `update paidonce.settings set notify = 'always'`)
			db.Exec(t, `
				create schema app;
				create function app.tell(event jsonb) returns void language plpgsql set search_path = '' as $$
				begin
					perform paidonce.enqueue(event, 'test.a', event #> '{data,object}');
				end $$;
				select paidonce.on('customer.updated', 'app.tell(jsonb)');`)
			conn, err := pgx.Connect(t.Context(), db.URL("postgres"))
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			_, err = conn.Exec(t.Context(), "listen paidonce_outbox")
			require.NoError(t, err)
			var s sent
			start(t, db, outbox.Options{}, func(w *outbox.Worker) { w.Handle("*", s.accept) })

			require.Equal(t, "processed", pgtest.One[string](t, db, `
				select public.handle_stripe_event(jsonb_build_object('id', 'evt_1', 'object', 'event', 'type', 'customer.updated', 'created', 1764500000,
					'data', jsonb_build_object('object', jsonb_build_object('id', 'cus_1', 'object', 'customer', 'name', $1::text, 'description', $1::text))))
					->> 'outcome'`, text))
			notice, err := conn.WaitForNotification(t.Context())
			require.NoError(t, err)
			require.Empty(t, notice.Payload)
			eventually(t, "it is sent", allSent(t, db))
			require.Len(t, s.list(), 1)
			for _, again := range []string{
				"select paidonce.request_refetch(payload, 'customer', 'cus_1') from paidonce.events",
				"select paidonce.requeue_outbox(id, true) from paidonce.outbox limit 1",
			} {
				db.Exec(t, again)
				notice, err := conn.WaitForNotification(t.Context())
				require.NoError(t, err)
				require.Empty(t, notice.Payload)
				eventually(t, "it is sent", allSent(t, db))
			}
		})
	}
}

// hole forwards connections until it is told to swallow: those that are open then stay open and carry
// nothing more, while new ones work.
type hole struct {
	listener net.Listener
	target   string
	mu       sync.Mutex
	current  *atomic.Bool // what the open connections look at
	open     []net.Conn
}

func blackhole(t *testing.T, through string) (*hole, string) {
	t.Helper()
	u, err := url.Parse(through)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	h := &hole{listener: listener, target: u.Host, current: &atomic.Bool{}}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", h.target)
			if err != nil {
				_ = conn.Close()
				continue
			}
			h.mu.Lock()
			swallowing := h.current
			h.open = append(h.open, conn, server)
			h.mu.Unlock()
			for _, pair := range [][2]net.Conn{{conn, server}, {server, conn}} {
				group.Go(func() { forward(pair[1], pair[0], swallowing) })
			}
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		h.mu.Lock()
		for _, c := range h.open {
			_ = c.Close()
		}
		h.mu.Unlock()
		group.Wait()
	})
	u.Host = listener.Addr().String()
	return h, u.String()
}

func (h *hole) swallow() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current.Store(true)
	h.current = &atomic.Bool{}
}

func forward(to io.Writer, from io.Reader, swallowing *atomic.Bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !swallowing.Load() {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if c, ok := to.(net.Conn); ok && !swallowing.Load() {
				_ = c.Close()
			}
			return
		}
	}
}
