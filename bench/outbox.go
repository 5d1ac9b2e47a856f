package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// outboxOptions are the flags of `bench outbox`.
type outboxOptions struct {
	rows      int
	rounds    int
	batch     int
	parts     string
	rowsTimed int
	clients   int
	foreign   int
}

// outboxBench measures the outbox: how fast rows that wait are claimed and sent, how soon a row is sent after its commit,
// and what waking workers up costs those who write.
func outboxBench(ctx context.Context, args []string) (err error) {
	o := outboxOptions{}
	flags := flag.NewFlagSet("bench outbox", flag.ContinueOnError)
	flags.IntVar(&o.rows, "rows", 20000, "rows that wait at the start of each drain")
	flags.IntVar(&o.rounds, "rounds", 5, "rounds; medians are taken over them")
	flags.IntVar(&o.batch, "batch", 500, "rows of one claim, of the worker and of the raw loops")
	flags.IntVar(&o.rowsTimed, "samples", 200, "rows whose latency is measured with LISTEN; an eighth of it with polling only")
	flags.IntVar(&o.clients, "clients", 64, "parallel calls for the modes of NOTIFY")
	flags.IntVar(&o.foreign, "foreign", 300000, "pending rows of other actions beside which a claim is measured")
	flags.StringVar(&o.parts, "parts", "claim,drain,latency,notify", "what to measure")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if min(o.rows, o.rounds, o.batch, o.rowsTimed, o.clients, o.foreign) < 1 {
		return errors.New("rows, rounds, batch, samples, clients and foreign must be more than none")
	}
	b, err := start(ctx, options{clients: []int{o.clients}, subscriptions: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.describe(ctx); err != nil {
		return err
	}
	fmt.Println()
	m := outboxMeasure{bench: b, outboxOptions: o}
	if err := m.prepare(ctx); err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{{"claim", m.claim}, {"drain", m.drain}, {"latency", m.latency}, {"notify", m.notify}} {
		if !slices.Contains(splitList(o.parts), part.name) {
			continue
		}
		if err := part.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// outboxMeasure is the stage of the measurements of the outbox.
type outboxMeasure struct {
	*bench
	outboxOptions
	name  string
	owner *pgxpool.Pool
}

func (m *outboxMeasure) prepare(ctx context.Context) error {
	name, err := m.copyOf(ctx, "bench_outbox")
	if err != nil {
		return err
	}
	m.name = name
	if err := m.cluster.AllowLogin(ctx, "paidonce_worker"); err != nil {
		return err
	}
	m.owner, err = m.pool(ctx, m.cluster.URL("postgres", name))
	return err
}

// worker opens what a worker process has: a pool of its own, as its own role.
func (m *outboxMeasure) worker(ctx context.Context, database string) (*pgxpool.Pool, error) {
	pool, err := pgxpool.New(ctx, m.cluster.URL("paidonce_worker", database)+"&pool_max_conns=4")
	if err != nil {
		return nil, err
	}
	m.closers = append(m.closers, func() error { pool.Close(); return nil })
	return pool, nil
}

// queue empties the table and fills it again.
func (m *outboxMeasure) queue(ctx context.Context, rows int) error {
	for _, sql := range []string{
		"truncate paidonce.outbox restart identity",
		fmt.Sprintf(`insert into paidonce.outbox (event_id, action, payload, idempotency_key)
			select 'evt_' || n, 'noop.test', jsonb_build_object('to', 'user' || n || '@customer.example', 'template', 'welcome', 'invoice', 'in_' || n),
				'evt_' || n || ':noop.test'
			from generate_series(1, %d) as n`, rows),
		"vacuum analyze paidonce.outbox",
	} {
		if _, err := m.owner.Exec(ctx, sql); err != nil {
			return fmt.Errorf("queue rows: %w", err)
		}
	}
	return nil
}

func (m *outboxMeasure) sent(ctx context.Context) (n int, err error) {
	err = m.owner.QueryRow(ctx, "select count(*) from paidonce.outbox where status = 'sent'").Scan(&n)
	return n, err
}

var quiet = slog.New(slog.DiscardHandler)

func percentile(values []time.Duration, p float64) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(float64(len(sorted))*p), len(sorted)-1)]
}
