// Package pgtest gives every test a real Postgres database of its own: a copy
// of a template that has the migrations applied the way a user applies them,
// by a role that is not a superuser.
//
// A package's tests share one cluster: the one named in the environment, so
// that all packages of one `make test` use the same, else one of their own.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/cluster"
)

// Environment names the variable with the superuser's URL of the cluster to use.
const Environment = "PAIDONCE_TEST_CLUSTER"

// shared is the cluster of this test binary. It has to outlive every test, and
// TestMain is the only place that does.
var shared *cluster.Cluster

// Main is the body of a package's TestMain: it runs the tests with a cluster
// and ends the process.
func Main(m *testing.M) {
	if err := open(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := shared.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func open() (err error) {
	if url := os.Getenv(Environment); url != "" {
		shared, err = cluster.Attach(url)
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if shared, err = Start(ctx); err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		stop()
		_ = shared.Stop()
		os.Exit(130)
	}()
	return nil
}

// Start starts a cluster that is quick rather than durable. Tests that crash
// Postgres start their own.
func Start(ctx context.Context) (*cluster.Cluster, error) {
	return cluster.Start(ctx, cluster.Options{Settings: map[string]string{
		"fsync":            "off",
		"full_page_writes": "off",
		"max_wal_size":     "4GB",
	}})
}

// DB is a database that lives as long as its test.
type DB struct {
	Name string
	Pool *pgxpool.Pool // as the role postgres: it owns the database, and is no superuser
}

// New returns a Supabase-like database with the migrations applied.
func New(t testing.TB) *DB {
	t.Helper()
	return create(t, Template{Kind: cluster.Supabase, Migrated: true})
}

// NewPlain returns a database without anything of Supabase's, with the
// migrations applied. The cluster still has Supabase's roles.
func NewPlain(t testing.TB) *DB {
	t.Helper()
	return create(t, Template{Kind: cluster.Plain, Migrated: true})
}

// NewEmpty returns a database without the migrations.
func NewEmpty(t testing.TB, kind cluster.Kind) *DB {
	t.Helper()
	return create(t, Template{Kind: kind})
}

func create(t testing.TB, template Template) *DB {
	t.Helper()
	require.NotNil(t, shared, "TestMain must call pgtest.Main")
	name, err := CreateDatabase(t.Context(), shared, template)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		require.NoError(t, shared.DropDatabase(ctx, name))
	})
	db := &DB{Name: name}
	db.Pool, err = pgxpool.New(t.Context(), db.URL("postgres")+"&pool_max_conns=10")
	require.NoError(t, err)
	t.Cleanup(db.Pool.Close)
	return db
}

// URL returns the URL of the database for a role that can log in: postgres,
// authenticator, cluster.Superuser, or one that Login was called for.
func (db *DB) URL(role string) string { return shared.URL(role, db.Name) }

// Login lets a role log in and returns its URL.
func (db *DB) Login(t testing.TB, role string) string {
	t.Helper()
	require.NoError(t, shared.AllowLogin(t.Context(), role))
	return db.URL(role)
}

// Exec runs a statement as the role postgres.
func (db *DB) Exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	_, err := db.Pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// One returns the one column of the one row that a query of the role postgres gives.
func One[T any](t testing.TB, db *DB, sql string, args ...any) T {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	value, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	require.NoError(t, err)
	return value
}

// Tool returns the path of a program of the Postgres installation, such as
// pg_dump or psql.
func Tool(t testing.TB, name string) string {
	t.Helper()
	folder, err := cluster.FindBinDir()
	require.NoError(t, err)
	return filepath.Join(folder, name)
}

// Superuser returns a connection of the superuser to the database.
func (db *DB) Superuser(t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.URL(cluster.Superuser))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
