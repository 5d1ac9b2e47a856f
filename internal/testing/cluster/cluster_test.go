//go:build unix

package cluster_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/cluster"
)

func TestCluster(t *testing.T) {
	t.Parallel()

	t.Run("given root or not, when a cluster starts, then postgres runs, never as root", func(t *testing.T) {
		t.Parallel()
		c := start(t, cluster.Options{})
		info, err := os.Stat(filepath.Join(c.Dir(), "data"))
		require.NoError(t, err)
		require.NotZero(t, info.Sys().(*syscall.Stat_t).Uid)
		require.Equal(t, "200/UTC/on", one[string](t, c.URL("postgres", "postgres"), `
			select concat_ws('/', current_setting('max_connections'), current_setting('timezone'), current_setting('fsync'))`))
	})

	t.Run("given a cluster, when it stops, then no process and no folder is left", func(t *testing.T) {
		t.Parallel()
		c := start(t, cluster.Options{})
		pid := postmaster(t, c)
		require.NoError(t, c.Stop())
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
		require.NoDirExists(t, c.Dir())
		require.NoError(t, c.Stop(), "stopping twice")
	})

	t.Run("given committed rows, when postgres is killed and restarted, then they are there", func(t *testing.T) {
		t.Parallel()
		c := start(t, cluster.Options{})
		require.NoError(t, c.CreateDatabase(t.Context(), "app", cluster.Plain))
		url := c.URL("postgres", "app")
		exec(t, url, "create table kept (n int); insert into kept select generate_series(1, 1000)")
		pid := postmaster(t, c)
		require.NoError(t, c.Kill())
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
		require.NoError(t, c.Restart(t.Context()))
		require.EqualValues(t, 1000, one[int64](t, url, "select count(*) from kept"))
		require.Error(t, c.Restart(t.Context()), "restarting a running cluster")
	})

	t.Run("given two clusters at once, when one stops, then the other goes on", func(t *testing.T) {
		t.Parallel()
		first, second := start(t, cluster.Options{}), start(t, cluster.Options{Settings: map[string]string{"fsync": "off"}})
		require.NotEqual(t, first.Port(), second.Port())
		require.NoError(t, first.Stop())
		require.Equal(t, "off", one[string](t, second.URL("postgres", "postgres"), "show fsync"))
	})

	t.Run("given a setting that postgres refuses, when a cluster starts, then the error quotes its log", func(t *testing.T) {
		t.Parallel()
		_, err := cluster.Start(t.Context(), cluster.Options{Settings: map[string]string{"max_connections": "many"}})
		require.ErrorContains(t, err, `invalid value for parameter "max_connections"`)
	})

	t.Run("given a folder whose process is gone, when a cluster starts, then the folder is removed", func(t *testing.T) {
		t.Parallel()
		parent := filepath.Dir(start(t, cluster.Options{}).Dir())
		dead, err := os.MkdirTemp(parent, "paidonce-postgres-")
		require.NoError(t, err)
		young, err := os.MkdirTemp(parent, "paidonce-postgres-")
		require.NoError(t, err)
		t.Cleanup(func() { os.RemoveAll(young) })
		for _, folder := range []string{dead, young} {
			require.NoError(t, os.WriteFile(filepath.Join(folder, "lock"), nil, 0o600))
		}
		past := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(dead, past, past))
		living := start(t, cluster.Options{})
		require.NoError(t, os.Chtimes(living.Dir(), past, past))

		start(t, cluster.Options{})
		require.NoDirExists(t, dead)
		require.DirExists(t, young)
		require.DirExists(t, living.Dir())
	})
}

func TestDatabase(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Options{Settings: map[string]string{"fsync": "off"}})
	require.NoError(t, c.CreateDatabase(t.Context(), "supabase", cluster.Supabase))
	require.NoError(t, c.CreateDatabase(t.Context(), "plain", cluster.Plain))

	t.Run("given a supabase-like cluster, when the role postgres is asked, then it is no superuser", func(t *testing.T) {
		require.Equal(t, "postgres,false,true,true,true,true", one[string](t, c.URL("postgres", "supabase"), `
			select concat_ws(',', rolname, rolsuper::text, rolcreaterole::text, rolcreatedb::text, rolbypassrls::text, rolreplication::text)
			from pg_roles where rolname = current_user`))
	})

	t.Run("given a supabase-like database, when postgres creates a function in public, then anon may execute it", func(t *testing.T) {
		exec(t, c.URL("postgres", "supabase"), `
			create function public.f() returns int language sql as 'select 1';
			revoke execute on function public.f() from public`)
		require.True(t, one[bool](t, c.URL("postgres", "supabase"), "select has_function_privilege('anon', 'public.f()', 'execute')"))
	})

	t.Run("given a supabase-like database, when a signed-in user asks, then auth.uid() is the token's subject", func(t *testing.T) {
		const id = "00000000-0000-4000-8000-000000000001"
		options := strings.ReplaceAll(url.QueryEscape(`-c role=authenticated -c request.jwt.claims={"sub":"`+id+`"}`), "+", "%20")
		require.Equal(t, "authenticated "+id, one[string](t, c.URL("authenticator", "supabase")+"&options="+options, `
			select concat_ws(' ', current_user, auth.uid())`))
	})

	t.Run("given a template, when it is cloned, then rows, owner and settings are copied", func(t *testing.T) {
		exec(t, c.URL("postgres", "supabase"), "create table public.t as select 7 as n")
		require.NoError(t, c.CloneDatabase(t.Context(), "copy", "supabase"))
		url := c.URL("postgres", "copy")
		require.EqualValues(t, 7, one[int32](t, url, "select n from public.t"))
		require.Equal(t, "public, graphql_public", one[string](t, url, "show pgrst.db_schemas"))
		require.Equal(t, "postgres", one[string](t, url, "select datdba::regrole::text from pg_database where datname = current_database()"))

		require.NoError(t, c.DropDatabase(t.Context(), "copy"))
		require.Zero(t, one[int64](t, c.URL("postgres", "postgres"), "select count(*) from pg_database where datname = 'copy'"))
	})

	t.Run("given a plain database, when its schemas are listed, then there is nothing of supabase's", func(t *testing.T) {
		require.Equal(t, "public", one[string](t, c.URL("postgres", "plain"), `
			select string_agg(nspname, ',') from pg_namespace where nspname !~ '^pg_|^information_schema$'`))
	})

	t.Run("given a role without login, when it is allowed to, then it can log in", func(t *testing.T) {
		exec(t, c.URL("postgres", "plain"), "create role someone")
		done := make(chan error)
		for range 8 { // at once: two sessions must not alter one role at the same time
			go func() { done <- c.AllowLogin(context.Background(), "someone") }()
		}
		for range 8 {
			require.NoError(t, <-done)
		}
		require.Equal(t, "someone", one[string](t, c.URL("someone", "plain"), "select current_user::text"))
	})

	t.Run("given a wrong password, when someone logs in, then postgres refuses", func(t *testing.T) {
		_, err := pgx.Connect(t.Context(), "postgres://postgres:guess@127.0.0.1:"+strconv.Itoa(c.Port())+"/postgres?sslmode=disable")
		require.ErrorContains(t, err, "28P01")
	})

	t.Run("given the superuser's URL, when another process attaches, then it can work but not stop it", func(t *testing.T) {
		attached, err := cluster.Attach(c.URL(cluster.Superuser, "postgres"))
		require.NoError(t, err)
		require.NoError(t, attached.CreateDatabase(t.Context(), "attached", cluster.Plain))
		require.NoError(t, attached.Stop())
		require.Error(t, attached.Kill())
		require.Error(t, attached.Restart(t.Context()))
		require.Equal(t, "attached", one[string](t, c.URL("postgres", "attached"), "select current_database()"))
		_, err = cluster.Attach(c.URL("postgres", "postgres"))
		require.ErrorContains(t, err, cluster.Superuser)
	})

	t.Run("given a plain cluster, when its roles are listed, then there is only the role postgres", func(t *testing.T) {
		plain := start(t, cluster.Options{Plain: true})
		require.Equal(t, "postgres,supabase_admin", one[string](t, plain.URL("postgres", "postgres"), `
			select string_agg(rolname, ',' order by rolname) from pg_roles where rolname !~ '^pg_'`))
	})
}

func start(t *testing.T, options cluster.Options) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	return c
}

func postmaster(t *testing.T, c *cluster.Cluster) int {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(c.Dir(), "data", "postmaster.pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.SplitN(string(file), "\n", 2)[0])
	require.NoError(t, err)
	return pid
}

func exec(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

func one[T any](t *testing.T, url, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), sql)
	require.NoError(t, err)
	value, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	require.NoError(t, err)
	return value
}
