package migrate

import (
	"context"
	"log/slog"
	"testing"
	"time"

	godatabase "github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// slow is a second migration that does its work and then does not end.
var slow = map[string]string{"000002_two.up.sql": two["000002_two.up.sql"] + "\nselect pg_sleep(60);"}

// asleep waits until the slow migration sleeps.
const asleep = "select count(*) > 0 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'"

func TestCutOffMigrations(t *testing.T) {
	t.Parallel()

	// repaired says that the next run finishes what was cut off.
	repaired := func(t *testing.T, db *pgtest.DB) {
		t.Helper()
		require.Equal(t, "log one schema_migrations", pgtest.One[string](t, db, tables), "nothing of the second file is left")
		state, err := with(time.Second, two).status(t.Context(), db.URL("postgres"))
		require.NoError(t, err)
		require.Equal(t, State{Version: 2, Latest: 2, Dirty: true, Pending: []string{"000002_two"}}, state)

		_, err = with(time.Second, two).down(t.Context(), db.URL("postgres"), 1)
		require.ErrorContains(t, err, "run migrate up, which repairs it")

		report, err := with(time.Second, two).up(t.Context(), db.URL("postgres"))
		require.NoError(t, err)
		require.Equal(t, Report{From: 1, To: 2, Applied: []string{"000002_two"}, Healed: true}, report)
		require.Equal(t, "log one schema_migrations two", pgtest.One[string](t, db, tables))
		require.Equal(t, "1 2", pgtest.One[string](t, db, "select string_agg(n::text, ' ' order by n) from paidonce.log"))
	}

	t.Run("given a file with an error at its end when migrated then nothing of it is left and a better one succeeds", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Plain)
		broken := "-- file: functions/two.sql\ncreate table if not exists paidonce.two (a int);\n\nselect paidonce.nothing();\n"
		_, err := with(time.Second, but(map[string]string{"000002_two.up.sql": broken})).up(t.Context(), db.URL("postgres"))
		require.EqualError(t, err, "migrate up: 000002_two, functions/two.sql line 3: ERROR: function paidonce.nothing() does not exist (SQLSTATE 42883)")
		repaired(t, db)
	})

	t.Run("given a backend killed half way when migrated again then the rest is done", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Plain)
		failed := background(t, t.Context(), db, but(slow))
		db.Exec(t, "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'")
		require.ErrorContains(t, <-failed, "terminating connection")
		repaired(t, db)
	})

	t.Run("given an interrupt half way when migrated again then the rest is done", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Plain)
		ctx, cancel := context.WithCancel(t.Context())
		failed := background(t, ctx, db, but(slow))
		cancel()
		select {
		case err := <-failed:
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorContains(t, err, "interrupted")
		case <-time.After(10 * time.Second):
			t.Fatal("the migration does not stop")
		}
		repaired(t, db)
	})

	t.Run("given a file that was applied and not marked when migrated then it is run again without harm", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		_, err := Up(t.Context(), db.URL("postgres"), nil)
		require.NoError(t, err)
		want := schema(t, db)
		db.Exec(t, "update paidonce.schema_migrations set dirty = true")
		report, err := Up(t.Context(), db.URL("postgres"), slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.True(t, report.Healed)
		require.Equal(t, want, schema(t, db))
	})

	t.Run("given a way down that was cut off at the first file when migrated up then it is repaired", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Plain)
		_, err := with(time.Second, two).up(t.Context(), db.URL("postgres"))
		require.NoError(t, err)
		stuck := with(time.Second, but(map[string]string{"000001_one.down.sql": "drop table paidonce.one; select 1 / 0;"}))
		_, err = stuck.down(t.Context(), db.URL("postgres"), 2)
		require.EqualError(t, err, "migrate down: ERROR: division by zero (SQLSTATE 22012)")
		report, err := with(time.Second, two).up(t.Context(), db.URL("postgres"))
		require.NoError(t, err)
		require.True(t, report.Healed)
		require.Equal(t, "log one schema_migrations two", pgtest.One[string](t, db, tables))
	})
}

func TestCrashedServer(t *testing.T) {
	t.Parallel()
	t.Run("given a Postgres killed half way when it is back and migrated again then the rest is done", func(t *testing.T) {
		t.Parallel()
		c, err := cluster.Start(t.Context(), cluster.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Stop()) })
		require.NoError(t, c.CreateDatabase(t.Context(), "crash", cluster.Supabase))
		url := c.URL("postgres", "crash")

		failed := make(chan error, 1)
		go func() {
			_, err := with(time.Second, but(slow)).up(context.Background(), url)
			failed <- err
		}()
		require.Eventually(t, func() bool {
			var yes bool
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				return false
			}
			defer conn.Close(t.Context())
			return conn.QueryRow(t.Context(), asleep).Scan(&yes) == nil && yes
		}, 20*time.Second, 20*time.Millisecond)
		require.NoError(t, c.Kill())
		require.Error(t, <-failed)
		require.NoError(t, c.Restart(t.Context()))

		report, err := with(time.Second, two).up(t.Context(), url)
		require.NoError(t, err)
		require.Equal(t, Report{From: 1, To: 2, Applied: []string{"000002_two"}, Healed: true}, report)
	})
}

func TestWaitingForLocks(t *testing.T) {
	t.Parallel()
	short := 300 * time.Millisecond

	t.Run("given a run that holds the lock when another migrates then it gives up in time and says why", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Plain)
		running := background(t, t.Context(), db, but(slow))
		begin := time.Now()
		_, err := with(short, two).up(t.Context(), db.URL("postgres"))
		require.ErrorContains(t, err, "another migration has been running for more than 300ms")
		require.Less(t, time.Since(begin), 5*time.Second)
		db.Exec(t, "select pg_cancel_backend(pid) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'")
		require.Error(t, <-running)
		_, err = with(short, two).up(t.Context(), db.URL("postgres"))
		require.NoError(t, err, "the lock went with its run")
	})

	t.Run("given golang-migrate's own command at work when migrated then the wait for its lock ends too", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Plain)
		_, err := with(short, two).up(t.Context(), db.URL("postgres"))
		require.NoError(t, err)
		// The number under which its command takes the lock, given this database.
		key, err := godatabase.GenerateAdvisoryLockId("/"+db.Name, "paidonce", "schema_migrations")
		require.NoError(t, err)
		holdAdvisory(t, db, key)
		begin := time.Now()
		_, err = with(short, two).up(t.Context(), db.URL("postgres"))
		require.ErrorContains(t, err, "55P03")
		require.Less(t, time.Since(begin), 5*time.Second)
	})

	t.Run("given a table in use when a migration wants it then it gives up, leaves nothing, and can be run again", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Plain)
		_, err := with(short, map[string]string{"000001_one.up.sql": two["000001_one.up.sql"], "000001_one.down.sql": "select 1;"}).up(t.Context(), db.URL("postgres"))
		require.NoError(t, err)
		files := but(map[string]string{"000002_two.up.sql": two["000002_two.up.sql"] + "\nalter table paidonce.one add column if not exists b int;"})
		tx, err := db.Pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "select * from paidonce.one")
		require.NoError(t, err)
		_, err = with(short, files).up(t.Context(), db.URL("postgres"))
		require.ErrorContains(t, err, "canceling statement due to lock timeout")
		require.NoError(t, tx.Rollback(t.Context()))
		report, err := with(short, files).up(t.Context(), db.URL("postgres"))
		require.NoError(t, err)
		require.True(t, report.Healed)
	})
}

// background starts a migration of slow files and returns once it sleeps.
func background(t *testing.T, ctx context.Context, db *pgtest.DB, files map[string]string) <-chan error {
	t.Helper()
	failed := make(chan error, 1)
	go func() {
		_, err := with(time.Second, files).up(ctx, db.URL("postgres"))
		failed <- err
	}()
	require.Eventually(t, func() bool { return pgtest.One[bool](t, db, asleep) }, 20*time.Second, 20*time.Millisecond)
	return failed
}

func holdAdvisory(t *testing.T, db *pgtest.DB, key string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.URL("postgres"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(t.Context(), "select pg_advisory_lock("+key+")")
	require.NoError(t, err)
}
