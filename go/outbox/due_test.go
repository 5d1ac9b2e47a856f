package outbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/internal/testing/duetest"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestDueWork(t *testing.T) {
	t.Parallel()

	t.Run("given a worker without senders and with the rights of the webhook alone when work is due then it is done at a notice, and rows wait", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		duetest.Replace(t, db)
		ask(t, db, "email.a", "k1")
		login := loginOf(t, db, "paidonce_edge")
		r := start(t, db, outbox.Options{DB: pool(t, login), ListenURL: login, PollInterval: time.Hour}, func(*outbox.Worker) {})
		eventually(t, "it listens", func() bool { return r.metric(t, "paidonce_outbox_listening") == 1 })
		time.Sleep(2500 * time.Millisecond) // it looks often at first
		duetest.Add(t, db, 10, 0)
		db.Exec(t, "select paidonce.notify_outbox()")
		eventually(t, "it is done", func() bool { return duetest.Left(t, db) == 0 })
		require.EqualValues(t, 1, count(t, db, "status = 'pending' and attempts = 0"))
		require.Contains(t, r.log.String(), "only due work is done")
		require.Zero(t, r.metric(t, "paidonce_outbox_database_errors_total"), r.log.String())
		require.NoError(t, r.stop(t))
	})

	t.Run("given a pool of two connections and due work that takes long when rows come then they are sent meanwhile", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		duetest.Replace(t, db)
		duetest.Add(t, db, 5, 60)
		var s sent
		r := start(t, db, outbox.Options{DB: pool(t, db.URL("postgres")+"&pool_max_conns=2")}, func(w *outbox.Worker) {
			w.Handle("email.*", s.accept)
		})
		eventually(t, "an item is under way", func() bool { return duetest.Calls(t, db) == 1 })
		askMany(t, db, "email.a", 100)
		eventually(t, "they are sent", allSent(t, db))
		began := time.Now()
		require.NoError(t, r.stop(t))
		require.Less(t, time.Since(began), 5*time.Second)
		require.EqualValues(t, 5, duetest.Left(t, db))
	})
}
