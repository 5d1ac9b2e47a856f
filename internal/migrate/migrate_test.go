package migrate

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/dump"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

const tables = "select coalesce(string_agg(relname, ' ' order by relname), '') from pg_class where relkind = 'r' and relnamespace = to_regnamespace('paidonce')"

func TestEmbeddedMigrations(t *testing.T) {
	t.Parallel()
	files, err := Files()
	require.NoError(t, err)
	last := len(files)
	names := []string{}
	for _, f := range files {
		names = append(names, f.id())
	}
	quiet := slog.New(slog.DiscardHandler)

	for kind, migrated := range map[cluster.Kind]func(testing.TB) *pgtest.DB{cluster.Supabase: pgtest.New, cluster.Plain: pgtest.NewPlain} {
		t.Run(fmt.Sprintf("given an empty database of kind %d when migrated up, down and up then it ends as psql would leave it", kind), func(t *testing.T) {
			t.Parallel()
			db := pgtest.NewEmpty(t, kind)
			url := db.URL("postgres")

			state, err := Status(t.Context(), url)
			require.NoError(t, err)
			require.Equal(t, State{Latest: last, Pending: names}, state)
			require.Empty(t, pgtest.One[string](t, db, "select coalesce(to_regnamespace('paidonce')::text, '')"), "asking changes nothing")

			report, err := Up(t.Context(), url, quiet)
			require.NoError(t, err)
			require.Equal(t, Report{From: 0, To: last, Applied: names}, report)
			require.Empty(t, dump.Diff(schema(t, migrated(t)), schema(t, db)))

			report, err = Up(t.Context(), url, nil)
			require.NoError(t, err)
			require.Equal(t, Report{From: last, To: last}, report)

			report, err = Down(t.Context(), url, last+5, nil)
			require.NoError(t, err)
			require.Equal(t, 0, report.To)
			require.Len(t, report.Applied, last)
			require.Equal(t, "schema_migrations", pgtest.One[string](t, db, tables))

			_, err = Up(t.Context(), url, nil)
			require.NoError(t, err)
			require.Empty(t, dump.Diff(schema(t, migrated(t)), schema(t, db)))
			state, err = Status(t.Context(), url)
			require.NoError(t, err)
			require.Equal(t, State{Version: last, Latest: last, Pending: []string{}}, state)
		})
	}

	t.Run("given many runs at once when they all migrate then each of them ends well", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		var (
			wait    sync.WaitGroup
			mu      sync.Mutex
			applied int
		)
		for range 6 {
			wait.Go(func() {
				report, err := Up(t.Context(), db.URL("postgres"), nil)
				mu.Lock()
				defer mu.Unlock()
				applied += len(report.Applied)
				if err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		require.Equal(t, last, applied, "exactly one run did the work")
	})

	t.Run("given a migrated database when an API role reads the table of migrations then it is refused", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		_, err := Up(t.Context(), db.URL("postgres"), nil)
		require.NoError(t, err)
		db.Exec(t, "grant select on paidonce.schema_migrations to anon") // as a careless "on all tables" would
		tx, err := db.Superuser(t).Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "set local role anon")
		require.NoError(t, err)
		var rows int
		require.NoError(t, tx.QueryRow(t.Context(), "select count(*) from paidonce.schema_migrations").Scan(&rows))
		require.Zero(t, rows)
	})
}

func TestSeveralMigrations(t *testing.T) {
	t.Parallel()
	t.Run("given two migrations when one is taken back then the other stays", func(t *testing.T) {
		t.Parallel()
		db, r := pgtest.NewEmpty(t, cluster.Plain), with(time.Second, two)
		report, err := r.up(t.Context(), db.URL("postgres"))
		require.NoError(t, err)
		require.Equal(t, []string{"000001_one", "000002_two"}, report.Applied)
		report, err = r.down(t.Context(), db.URL("postgres"), 1)
		require.NoError(t, err)
		require.Equal(t, Report{From: 2, To: 1, Applied: []string{"000002_two"}}, report)
		require.Equal(t, "log one schema_migrations", pgtest.One[string](t, db, tables))
		state, err := r.status(t.Context(), db.URL("postgres"))
		require.NoError(t, err)
		require.Equal(t, State{Version: 1, Latest: 2, Pending: []string{"000002_two"}}, state)
	})

	t.Run("given a database newer than the program when migrated then it is refused and left alone", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Plain)
		_, err := with(time.Second, two).up(t.Context(), db.URL("postgres"))
		require.NoError(t, err)
		old := with(time.Second, map[string]string{"000001_one.up.sql": two["000001_one.up.sql"], "000001_one.down.sql": two["000001_one.down.sql"]})
		_, err = old.up(t.Context(), db.URL("postgres"))
		require.ErrorContains(t, err, "the database is at migration 2 and this program knows only 1")
		_, err = old.down(t.Context(), db.URL("postgres"), 1)
		require.ErrorContains(t, err, "use a newer one")
		require.Equal(t, "log one schema_migrations two", pgtest.One[string](t, db, tables))
	})

	t.Run("given nothing to take back when migrated down then that is said", func(t *testing.T) {
		t.Parallel()
		db, r := pgtest.NewEmpty(t, cluster.Plain), with(time.Second, two)
		_, err := r.down(t.Context(), db.URL("postgres"), 0)
		require.ErrorContains(t, err, "at least 1")
		_, err = r.down(t.Context(), db.URL("postgres"), 1)
		require.ErrorContains(t, err, "no migration is applied here")
	})

	t.Run("given what the Supabase CLI has applied when migrated up then only the rest is run", func(t *testing.T) {
		t.Parallel()
		db, r := pgtest.NewEmpty(t, cluster.Supabase), with(time.Second, two)
		db.Exec(t, `create schema paidonce; create schema supabase_migrations;
			create table supabase_migrations.schema_migrations (version text primary key, statements text[], name text);
			insert into supabase_migrations.schema_migrations (version, name) values ('20250101000000', 'theirs'), ('20270203040506', 'paidonce_one')`)
		db.Exec(t, two["000001_one.up.sql"])
		state, err := r.status(t.Context(), db.URL("postgres"))
		require.NoError(t, err)
		require.Equal(t, State{Version: 1, Latest: 2, Pending: []string{"000002_two"}, Adopted: true}, state)
		report, err := r.up(t.Context(), db.URL("postgres"))
		require.NoError(t, err)
		require.Equal(t, Report{From: 1, To: 2, Applied: []string{"000002_two"}, Adopted: true}, report)

		_, err = r.down(t.Context(), db.URL("postgres"), 2)
		require.NoError(t, err)
		report, err = r.up(t.Context(), db.URL("postgres"))
		require.NoError(t, err)
		require.Equal(t, []string{"000001_one", "000002_two"}, report.Applied, "what was taken back is not believed to be there")
	})

	t.Run("given a role that may not create schemas when the schema is there then it may migrate", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Plain)
		db.Exec(t, "create schema paidonce")
		super := db.Superuser(t)
		role := "migrator_" + db.Name
		_, err := super.Exec(t.Context(), fmt.Sprintf("create role %[1]q; alter schema paidonce owner to %[1]q", role))
		require.NoError(t, err)
		_, err = with(time.Second, two).up(t.Context(), db.Login(t, role))
		require.NoError(t, err)
	})
}

func schema(t *testing.T, db *pgtest.DB) dump.Schema {
	t.Helper()
	s, err := dump.Of(t.Context(), db.URL(cluster.Superuser))
	require.NoError(t, err)
	return s
}
