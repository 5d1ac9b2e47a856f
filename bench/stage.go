package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/internal/migrate"
	"github.com/paidonce/paidonce/internal/testing/cluster"
)

// bench is the stage: a cluster and, in it, one filled database that every variant gets a copy of, so that
// none of them works in the rows that another has left.
type bench struct {
	options
	cluster  *cluster.Cluster
	template string
	closers  []func() error
}

// Checkpoints and the worst of autovacuum are kept out of the measurement: they come at moments of their own
// and would hit one variant and not the next. Durability is not touched.
var settings = map[string]string{
	"max_wal_size":       "8GB",
	"checkpoint_timeout": "1h",
	"shared_buffers":     "512MB",
	"autovacuum_naptime": "20s",
}

func start(ctx context.Context, o options) (_ *bench, err error) {
	b := &bench{options: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if b.cluster, err = startCluster(ctx, o.profile); err != nil {
		return nil, err
	}
	b.closers = append(b.closers, b.cluster.Stop)
	b.template = "bench"
	if err := b.cluster.CreateDatabase(ctx, b.template, cluster.Supabase); err != nil {
		return nil, err
	}
	if _, err := migrate.Up(ctx, b.cluster.URL("postgres", b.template), slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	if err := b.cluster.AllowLogin(ctx, "paidonce_edge"); err != nil {
		return nil, err
	}
	return b, b.fill(ctx)
}

// startCluster loads pg_stat_statements for the profile where the installation has it.
func startCluster(ctx context.Context, profile bool) (*cluster.Cluster, error) {
	if profile {
		more := map[string]string{
			"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "all",
			"pg_stat_statements.max": "1000", "track_io_timing": "on",
		}
		maps.Copy(more, settings)
		if c, err := cluster.Start(ctx, cluster.Options{Settings: more}); err == nil {
			return c, nil
		}
	}
	return cluster.Start(ctx, cluster.Options{Settings: settings})
}

// fill lets paidonce itself make the subscriptions, and adds the table of the bare insert.
func (b *bench) fill(ctx context.Context) error {
	pool, err := pgxpool.New(ctx, b.cluster.URL("postgres", b.template))
	if err != nil {
		return err
	}
	defer pool.Close()
	const tables = `
		create schema bench;
		create table bench.bare (event_id text primary key, payload jsonb not null);
		create table bench.bare_default (event_id text primary key, payload jsonb not null);
		do $$
		begin
			alter table bench.bare alter column payload set compression lz4; -- as paidonce.events has it
		exception
			when feature_not_supported then null;
		end $$;`
	if _, err := pool.Exec(ctx, tables); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	for chunk := range slices.Chunk(upTo(b.subscriptions), 100) {
		batch := &pgx.Batch{}
		for _, n := range chunk {
			batch.Queue(call, bodyFor(-1-n, n))
		}
		if err := pool.SendBatch(ctx, batch).Close(); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	_, err = pool.Exec(ctx, "vacuum analyze")
	return err
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// copyOf returns a new copy of the filled database.
func (b *bench) copyOf(ctx context.Context, name string) (string, error) {
	return name, b.cluster.CloneDatabase(ctx, name, b.template)
}

// pool opens connections for one variant, as the handler does it. They are closed with the bench.
func (b *bench) pool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	pool, err := database.Open(ctx, url, database.Options{MaxConns: int32(max(16, slices.Max(b.clients)))})
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, func() error { pool.Close(); return nil })
	return pool, nil
}

func (b *bench) close() error { return b.closeDownTo(0) }

// closeDownTo closes what was opened after the first so many.
func (b *bench) closeDownTo(n int) error {
	var errs []error
	for _, c := range slices.Backward(b.closers[n:]) {
		errs = append(errs, c())
	}
	b.closers = b.closers[:n]
	return errors.Join(errs...)
}

// describe says what the figures were measured on.
func (b *bench) describe(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, b.cluster.URL(cluster.Superuser, "postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var postgres, fsync, commit string
	err = conn.QueryRow(ctx, `
		select current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit')`).Scan(&postgres, &fsync, &commit)
	if err != nil {
		return err
	}
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		changed = append(changed, name+" "+settings[name])
	}
	fmt.Printf("%d CPUs shared by clients, handler and database; %s %s/%s; Postgres %s, fsync %s, synchronous_commit %s, %s\n",
		runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, postgres, fsync, commit, strings.Join(changed, ", "))
	return nil
}
