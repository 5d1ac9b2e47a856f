package due_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/due"
	"github.com/paidonce/paidonce/internal/testing/duetest"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestMain(m *testing.M) { pgtest.MainWithoutLeaks(m) }

type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// start runs r until stop, or the end of the test.
func start(t *testing.T, r *due.Runner) (said *log, stop func() error) {
	t.Helper()
	said = &log{}
	r.Logger = slog.New(slog.NewTextHandler(said, nil))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { require.NoError(t, stop()) })
	return said, stop
}

func prepare(t *testing.T) *pgtest.DB {
	t.Helper()
	db := pgtest.New(t)
	duetest.Replace(t, db)
	return db
}

func named(t *testing.T, db *pgtest.DB, name string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), db.URL("postgres")+"&application_name="+name)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func empty(t *testing.T, db *pgtest.DB) {
	t.Helper()
	require.Eventually(t, func() bool { return duetest.Left(t, db) == 0 }, 20*time.Second, 5*time.Millisecond)
	require.Zero(t, pgtest.One[int64](t, db, "select count(*) from stub.due where done <> 1"), "each is done once")
}

func TestRunner(t *testing.T) {
	t.Parallel()

	t.Run("given a zero Runner but for its database when much is due then all of it is run without waiting between", func(t *testing.T) {
		t.Parallel()
		db := prepare(t)
		duetest.Add(t, db, 100, 0.001)
		began := time.Now()
		start(t, &due.Runner{DB: db.Pool})
		empty(t, db)
		require.Less(t, time.Since(began), 10*time.Second, "a poll between any two would take longer")
	})

	t.Run("given that nothing is due when something comes then polling finds it, and a wake-up sooner than that", func(t *testing.T) {
		t.Parallel()
		db := prepare(t)
		r := &due.Runner{DB: db.Pool, PollInterval: time.Hour}
		r.Wake() // before Run it does nothing, and no harm
		start(t, r)
		time.Sleep(2500 * time.Millisecond) // it looks often at first
		duetest.Add(t, db, 3, 0)
		time.Sleep(300 * time.Millisecond)
		require.EqualValues(t, 3, duetest.Left(t, db))
		r.Wake()
		empty(t, db)

		start(t, &due.Runner{DB: db.Pool, PollInterval: 50 * time.Millisecond})
		duetest.Add(t, db, 3, 0)
		empty(t, db)
	})

	t.Run("given calls that fail when others work again then nothing is lost, and the log says both", func(t *testing.T) {
		t.Parallel()
		db := prepare(t)
		duetest.Fail(t, db, 4)
		duetest.Add(t, db, 10, 0)
		said, _ := start(t, &due.Runner{DB: db.Pool, PollInterval: 10 * time.Millisecond})
		empty(t, db)
		require.Eventually(t, func() bool { return strings.Contains(said.String(), "takes the call again") }, 10*time.Second, 5*time.Millisecond)
		require.Equal(t, 1, strings.Count(said.String(), "does not take a call"))
	})

	t.Run("given calls that go on failing when it is woken up all the time then it does not spin", func(t *testing.T) {
		t.Parallel()
		db := prepare(t)
		duetest.Fail(t, db, 1<<40)
		r := &due.Runner{DB: db.Pool, PollInterval: time.Millisecond}
		start(t, r)
		for range 2000 {
			r.Wake()
			time.Sleep(time.Millisecond)
		}
		require.Less(t, duetest.Calls(t, db), int64(60))
		require.Positive(t, duetest.Calls(t, db))
	})

	t.Run("given an item that takes long when others are due then they are run beside it, and the end breaks it off at once and leaves it due", func(t *testing.T) {
		t.Parallel()
		db := prepare(t)
		duetest.Add(t, db, 1, 60)
		duetest.Add(t, db, 20, 0)
		_, stop := start(t, &due.Runner{DB: db.Pool})
		require.Eventually(t, func() bool { return duetest.Left(t, db) == 1 }, 20*time.Second, 5*time.Millisecond)
		began := time.Now()
		require.NoError(t, stop())
		require.Less(t, time.Since(began), 2*time.Second)
		require.EqualValues(t, 1, duetest.Left(t, db))
	})

	t.Run("given two runners when much is due then they share it and each item is run once", func(t *testing.T) {
		t.Parallel()
		db := prepare(t)
		duetest.Add(t, db, 100, 0.02)
		start(t, &due.Runner{DB: named(t, db, "one"), Concurrency: 1})
		start(t, &due.Runner{DB: named(t, db, "two"), Concurrency: 1})
		empty(t, db)
		require.EqualValues(t, 2, pgtest.One[int64](t, db, "select count(distinct by) from stub.due"))
	})

	t.Run("given the loop of the operations page when it is run then each item is done in a transaction of its own", func(t *testing.T) {
		t.Parallel()
		db := prepare(t)
		page, err := os.ReadFile("../../docs/operations.md")
		require.NoError(t, err)
		_, rest, found := strings.Cut(string(page), "```pgsql\ndo $$")
		require.True(t, found)
		loop, _, _ := strings.Cut(rest, "```")
		duetest.Add(t, db, 5, 0)
		db.Exec(t, "do $$"+loop)
		empty(t, db)
		require.EqualValues(t, 5, pgtest.One[int64](t, db, "select count(distinct xmin::text) from stub.due"))
	})

	t.Run("given a schema that knows no due work when it runs then it says so once and ends in order", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		db.Exec(t, "drop function if exists paidonce.run_due(integer)")
		said, stop := start(t, &due.Runner{DB: db.Pool, PollInterval: time.Millisecond})
		require.Eventually(t, func() bool { return strings.Contains(said.String(), "paidonce migrate up") }, 10*time.Second, 5*time.Millisecond)
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, stop())
		require.Equal(t, 1, strings.Count(said.String(), "\n"), said.String())
	})

	t.Run("given the kit's own function when a login of each role that has to do with it runs it then it may", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		if !pgtest.One[bool](t, db, "select to_regprocedure('paidonce.run_due(integer)') is not null") {
			t.Skip("the schema knows no due work yet")
		}
		for _, of := range []string{"service_role", "paidonce_worker"} {
			role := "due_" + of + "_" + db.Name
			db.Exec(t, "create role "+role+" in role "+of)
			pool, err := pgxpool.New(t.Context(), db.Login(t, role))
			require.NoError(t, err)
			var ran int
			err = pool.QueryRow(t.Context(), "select paidonce.run_due(1)").Scan(&ran)
			pool.Close()
			db.Exec(t, "drop role "+role)
			require.NoError(t, err, of)
			require.Zero(t, ran)
		}
	})

	t.Run("given what cannot work when it is run then that is an error at once", func(t *testing.T) {
		t.Parallel()
		require.ErrorContains(t, (&due.Runner{}).Run(t.Context()), "no database")
		require.ErrorContains(t, (&due.Runner{DB: &pgxpool.Pool{}, Concurrency: -1}).Run(t.Context()), "negative")
	})
}
