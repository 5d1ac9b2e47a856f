package database_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func open(t *testing.T, url string, o database.Options) *pgxpool.Pool {
	t.Helper()
	pool, err := database.Open(t.Context(), url, o)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func TestOpenConfig(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name, url string
		pooler    bool
		mode      pgx.QueryExecMode
	}{
		{"a direct URL", "postgres://u@h:5432/d", false, pgx.QueryExecModeCacheStatement},
		{"Supabase's pooler port", "postgres://u@h:6543/d", false, pgx.QueryExecModeExec},
		{"Supabase's pooler port as key=value", "host=h port=6543 user=u dbname=d", false, pgx.QueryExecModeExec},
		{"the option", "postgres://u@h:5432/d", true, pgx.QueryExecModeExec},
		{"Prisma's parameter", "postgres://u@h:5432/d?pgbouncer=true", false, pgx.QueryExecModeExec},
		{"a mode in the URL", "postgres://u@h:5432/d?default_query_exec_mode=simple_protocol", false, pgx.QueryExecModeSimpleProtocol},
		{"a mode in the URL and the pooler port", "postgres://u@h:6543/d?default_query_exec_mode=simple_protocol", true, pgx.QueryExecModeSimpleProtocol},
	} {
		t.Run("given "+c.name+" when opened then the exec mode fits", func(t *testing.T) {
			config := open(t, c.url, database.Options{PoolerMode: c.pooler}).Config()
			require.Equal(t, c.mode, config.ConnConfig.DefaultQueryExecMode)
			require.NotContains(t, config.ConnConfig.RuntimeParams, "pgbouncer")
		})
	}

	t.Run("given nothing else when opened then the defaults are ours", func(t *testing.T) {
		config := open(t, "postgres://u@h/d", database.Options{}).Config()
		require.EqualValues(t, 10, config.MaxConns)
		require.Equal(t, 5*time.Second, config.ConnConfig.ConnectTimeout)
		require.Equal(t, 5*time.Minute, config.MaxConnIdleTime)
		require.Equal(t, "paidonce", config.ConnConfig.RuntimeParams["application_name"])
	})

	t.Run("given settings in the URL when opened then they win over the defaults, and options over them but for the name", func(t *testing.T) {
		const url = "postgres://u@h/d?pool_max_conns=3&connect_timeout=2&application_name=mine&pool_max_conn_idle_time=1m"
		config := open(t, url, database.Options{}).Config()
		require.EqualValues(t, 3, config.MaxConns)
		require.Equal(t, 2*time.Second, config.ConnConfig.ConnectTimeout)
		require.Equal(t, time.Minute, config.MaxConnIdleTime)
		require.Equal(t, "mine", config.ConnConfig.RuntimeParams["application_name"])
		config = open(t, url, database.Options{MaxConns: 7, ApplicationName: "other"}).Config()
		require.EqualValues(t, 7, config.MaxConns)
		require.Equal(t, "mine", config.ConnConfig.RuntimeParams["application_name"])
	})
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()

	for _, url := range []string{"", " ", "\n"} {
		t.Run("given a blank URL when opened then the error names the variable", func(t *testing.T) {
			_, err := database.Open(t.Context(), url, database.Options{})
			require.ErrorContains(t, err, "DATABASE_URL")
		})
	}

	for _, c := range []struct{ name, url, says string }{
		{"a slash in the password", "postgres://u:hun/ter2@h/d", "percent-encoded"},
		{"a percent sign in the password", "postgres://u:hun%ter2@h/d", "percent-encoded"},
		{"a space in the password", "postgres://u:hun ter2@h/d", "percent-encoded"},
		{"another database's scheme", "mysql://u:hunter2@h/d", "percent-encoded"},
		{"no scheme", "u:hunter2@h/d", "percent-encoded"},
		{"a broken key=value string", "host=h password='hunter2", "percent-encoded"},
		{"a stray word behind the password", "host=h password=hun ter2", "percent-encoded"},
		{"an sslmode that is none", "postgres://u:hunter2@h/d?sslmode=maybe", "sslmode"},
		{"a port that is none", "postgres://u:hunter2@h:99999/d", "port"},
		{"a pool size that is none", "postgres://u:hunter2@h/d?pool_max_conns=many&sslmode=disable", "pool_max_conns"},
		{"a mode that is none", "postgres://u:hunter2@h/d?default_query_exec_mode=fast", "default_query_exec_mode"},
		{"a timeout that repeats the password", "postgres://u:hunter2@h/d?connect_timeout=hunter2", ""},
		{"a certificate that is not there", "postgres://u:hunter2@h/d?sslmode=verify-full&sslrootcert=/nowhere/ca.pem", "/nowhere/ca.pem"},
	} {
		t.Run("given "+c.name+" when opened then the error helps and keeps the password to itself", func(t *testing.T) {
			for _, try := range []func() error{
				func() error { _, err := database.Open(t.Context(), c.url, database.Options{}); return err },
				func() error { _, err := database.Probe(t.Context(), c.url); return err },
			} {
				err := try()
				require.ErrorContains(t, err, c.says)
				for _, part := range []string{"hunter2", "ter2", "hun"} {
					require.NotContains(t, err.Error(), part)
				}
			}
		})
	}
}

func TestOpenConnects(t *testing.T) {
	t.Parallel()
	db := pgtest.NewEmpty(t, cluster.Plain)

	t.Run("given a database when opened and asked then it answers under our name", func(t *testing.T) {
		var name string
		pool := open(t, db.URL("postgres"), database.Options{ApplicationName: "paidonce test"})
		require.NoError(t, pool.QueryRow(t.Context(), "select current_setting('application_name')").Scan(&name))
		require.Equal(t, "paidonce test", name)
	})

	t.Run("given Prisma's parameter when opened and asked then the server is not bothered with it", func(t *testing.T) {
		require.NoError(t, open(t, db.URL("postgres")+"&pgbouncer=true", database.Options{}).Ping(t.Context()))
	})

	t.Run("given a wrong password when asked then the error does not repeat it", func(t *testing.T) {
		url := strings.Replace(db.URL("postgres"), "postgres:", "nobody_here:hunter2", 1)
		url = strings.Replace(url, "hunter2//", "postgres://", 1)
		err := open(t, url, database.Options{}).Ping(t.Context())
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2")
	})

	t.Run("given nobody at the address when opened then only the first query fails, without the password", func(t *testing.T) {
		pool := open(t, "postgres://u:hunter2@127.0.0.1:1/d", database.Options{})
		err := pool.Ping(t.Context())
		require.ErrorContains(t, err, "refused")
		require.NotContains(t, err.Error(), "hunter2")
	})

	t.Run("given an address that accepts and says nothing when asked then waiting ends with the context", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		pool := open(t, "postgres://u:hunter2@"+listener.Addr().String()+"/d?connect_timeout=1", database.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		err = pool.Ping(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(start), 500*time.Millisecond)
	})

	t.Run("given a pool with its only connection taken when asked then waiting ends with the context", func(t *testing.T) {
		pool := open(t, db.URL("postgres"), database.Options{MaxConns: 1})
		held, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		defer held.Release()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, pool.Ping(ctx), context.DeadlineExceeded)
	})
}

func TestProbe(t *testing.T) {
	t.Parallel()
	db := pgtest.NewEmpty(t, cluster.Plain)

	t.Run("given the server itself when probed then direct", func(t *testing.T) {
		kind, err := database.Probe(t.Context(), db.URL("postgres"))
		require.NoError(t, err)
		require.Equal(t, database.Direct, kind)
	})

	t.Run("given a transaction pooler when probed then it is found out, and its server connections listen to nothing", func(t *testing.T) {
		url := pgtest.PgBouncer(t, db)
		kind, err := database.Probe(t.Context(), url)
		require.NoError(t, err)
		require.Equal(t, database.TransactionPooler, kind)
		pool := open(t, url, database.Options{PoolerMode: true})
		var channels int
		require.NoError(t, pool.QueryRow(t.Context(), "select count(*) from pg_listening_channels()").Scan(&channels))
		require.Zero(t, channels)
	})

	t.Run("given a session pooler when probed then it is found out", func(t *testing.T) {
		kind, err := database.Probe(t.Context(), pgtest.SessionPgBouncer(t, db))
		require.NoError(t, err)
		require.Equal(t, database.SessionPooler, kind)
	})

	t.Run("given nobody at the address when probed then an error without the password", func(t *testing.T) {
		kind, err := database.Probe(t.Context(), "postgres://u:hunter2@127.0.0.1:1/d")
		require.ErrorContains(t, err, "database: probe")
		require.NotContains(t, err.Error(), "hunter2")
		require.Equal(t, database.Unknown, kind)
	})

	t.Run("given a context that is over when probed then its error", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := database.Probe(ctx, db.URL("postgres"))
		require.ErrorIs(t, err, context.Canceled)
	})
}
