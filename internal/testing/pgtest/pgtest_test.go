package pgtest_test

import (
	"os/exec"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestNew(t *testing.T) {
	t.Parallel()

	t.Run("given a migrated database, when its owner is asked for, then it is a role without superuser rights", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		require.Equal(t, "postgres", pgtest.One[string](t, db, `
			select pg_get_userbyid(nspowner) from pg_namespace where nspname = 'paidonce'`))
		require.False(t, pgtest.One[bool](t, db, "select rolsuper from pg_roles where rolname = current_user"))
	})

	t.Run("given a plain database, when its schemas are counted, then the migrations are there and supabase's are not", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewPlain(t)
		require.Equal(t, "paidonce,public", schemas(t, db))
	})

	t.Run("given an empty database, when its schemas are counted, then the migrations are not there", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "public", schemas(t, pgtest.NewEmpty(t, cluster.Plain)))
		require.Equal(t, "auth,extensions,graphql_public,public,storage", schemas(t, pgtest.NewEmpty(t, cluster.Supabase)))
	})

	t.Run("given two databases, when one is written to, then the other does not change", func(t *testing.T) {
		t.Parallel()
		first, second := pgtest.NewEmpty(t, cluster.Plain), pgtest.NewEmpty(t, cluster.Plain)
		first.Exec(t, "create table public.mine (n int)")
		require.True(t, pgtest.One[bool](t, first, "select to_regclass('public.mine') is not null"))
		require.False(t, pgtest.One[bool](t, second, "select to_regclass('public.mine') is not null"))
	})

	t.Run("given a finished test, when databases are listed, then its own is gone", func(t *testing.T) {
		t.Parallel()
		var name string
		t.Run("given a test, when it ends", func(t *testing.T) { name = pgtest.NewEmpty(t, cluster.Plain).Name })
		require.NotEmpty(t, name)
		db := pgtest.NewEmpty(t, cluster.Plain)
		require.False(t, pgtest.One[bool](t, db, "select exists (select from pg_database where datname = $1)", name))
	})

	t.Run("given a role, when it logs in, then it is in the test's database", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Plain)
		conn, err := pgx.Connect(t.Context(), db.Login(t, "service_role"))
		require.NoError(t, err)
		defer conn.Close(t.Context())
		var who string
		require.NoError(t, conn.QueryRow(t.Context(), "select concat_ws(' ', current_user, current_database())").Scan(&who))
		require.Equal(t, "service_role "+db.Name, who)
	})
}

func TestDB(t *testing.T) {
	t.Parallel()
	db := pgtest.NewEmpty(t, cluster.Supabase)

	t.Run("given a database, when the superuser connects, then it is the one that owns auth", func(t *testing.T) {
		var owner bool
		require.NoError(t, db.Superuser(t).QueryRow(t.Context(), `
			select nspowner = current_user::regrole from pg_namespace where nspname = 'auth'`).Scan(&owner))
		require.True(t, owner)
	})

	t.Run("given a program of postgres, when it runs, then it reaches the database", func(t *testing.T) {
		out, err := exec.Command(pgtest.Tool(t, "psql"), db.URL("postgres"), "-XAtc", "select current_database()").CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, db.Name+"\n", string(out))
	})
}

func TestCreateDatabase(t *testing.T) {
	t.Parallel()

	t.Run("given a new cluster, when many ask for the first database at once, then each gets a whole one", func(t *testing.T) {
		t.Parallel()
		c, err := pgtest.Start(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Stop()) })
		errs := make([]error, 6)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() {
				_, errs[i] = pgtest.CreateDatabase(t.Context(), c, pgtest.Template{Kind: cluster.Supabase, Migrated: true})
			})
		}
		group.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
	})
}

func schemas(t *testing.T, db *pgtest.DB) string {
	t.Helper()
	return pgtest.One[string](t, db, `
		select string_agg(nspname, ',' order by nspname) from pg_namespace where nspname !~ '^pg_|^information_schema$'`)
}
