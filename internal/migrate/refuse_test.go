package migrate

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestPoolers(t *testing.T) {
	t.Parallel()
	t.Run("given a transaction pooler when migrated then it is refused at once and nothing is touched", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		pooled := pgtest.PgBouncer(t, db)
		for range 2 {
			begin := time.Now()
			_, err := Up(t.Context(), pooled, nil)
			require.ErrorContains(t, err, "transaction pooler")
			require.ErrorContains(t, err, "port 5432")
			_, err = Down(t.Context(), pooled, 1, nil)
			require.ErrorContains(t, err, "transaction pooler")
			require.Less(t, time.Since(begin), 10*time.Second)
		}
		require.Empty(t, pgtest.One[string](t, db, "select coalesce(to_regnamespace('paidonce')::text, '')"))
		require.Zero(t, pgtest.One[int](t, db, "select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())"))

		_, err := Up(t.Context(), db.URL("postgres"), nil)
		require.NoError(t, err, "the direct way is open afterwards")
	})

	t.Run("given a transaction pooler when the state is asked for then it is told", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		pooled := pgtest.PgBouncer(t, db)
		_, err := Up(t.Context(), db.URL("postgres"), nil)
		require.NoError(t, err)
		for range 8 { // more than there are server connections
			state, err := Status(t.Context(), pooled)
			require.NoError(t, err)
			require.Equal(t, state.Latest, state.Version)
		}
	})

	t.Run("given a session pooler when migrated then it works as if direct", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		pooled := pgtest.SessionPgBouncer(t, db)
		for range 2 {
			_, err := Up(t.Context(), pooled, nil)
			require.NoError(t, err)
		}
		require.Empty(t, pgtest.One[string](t, db, "select coalesce(string_agg(version || ' dirty', ' '), '') from paidonce.schema_migrations where dirty"))
	})
}

func TestErrorsKeepThePassword(t *testing.T) {
	t.Parallel()
	const password = "s3cret-pa55word"
	db := pgtest.NewEmpty(t, cluster.Plain)
	direct, err := url.Parse(db.URL("postgres"))
	require.NoError(t, err)
	direct.User = url.UserPassword("postgres", password)

	for name, databaseURL := range map[string]string{
		"a wrong password":   direct.String(),
		"nobody listening":   "postgres://postgres:" + password + "@127.0.0.1:1/postgres?sslmode=disable",
		"a broken URL":       "postgres://postgres:" + password + "@127.0.0.1:port/postgres",
		"a broken escape":    "postgres://postgres:" + password + "%zz@127.0.0.1/postgres",
		"a broken setting":   "postgres://postgres:" + password + "@127.0.0.1/postgres?sslmode=perhaps",
		"no URL but words":   "host=127.0.0.1 port=nowhere password=" + password,
		"another scheme":     "mysql://postgres:" + password + "@127.0.0.1/postgres",
		"a missing database": strings.Replace(db.URL("postgres"), db.Name, "not_there", 1),
	} {
		t.Run("given "+name+" when migrated then the error has no password in it", func(t *testing.T) {
			t.Parallel()
			_, upErr := Up(t.Context(), databaseURL, nil)
			_, downErr := Down(t.Context(), databaseURL, 1, nil)
			_, statusErr := Status(t.Context(), databaseURL)
			for _, err := range []error{upErr, downErr, statusErr} {
				require.ErrorContains(t, err, "migrate ")
				require.NotContains(t, err.Error(), password)
				used, err2 := url.Parse(db.URL("postgres"))
				require.NoError(t, err2)
				own, _ := used.User.Password()
				require.NotContains(t, err.Error(), own)
			}
		})
	}
}
