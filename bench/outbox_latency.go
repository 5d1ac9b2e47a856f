package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/paidonce/paidonce/go/outbox"
)

// latency measures how soon the sender is called after a row is committed. The clock starts just before the
// commit, so that what the commit takes is in it.
func (m *outboxMeasure) latency(ctx context.Context) error {
	fmt.Println("from the commit of a row to the start of its send")
	line := func(name string, took []time.Duration) {
		fmt.Printf("  %-50s p50 %8s   p99 %8s   (%d rows)\n", name, percentile(took, .5).Round(10*time.Microsecond), percentile(took, .99).Round(10*time.Microsecond), len(took))
	}
	listening, err := m.samples(ctx, m.name, true, m.rowsTimed, func() time.Duration { return 20*time.Millisecond + rand.N(60*time.Millisecond) })
	if err != nil {
		return err
	}
	line("with LISTEN, a row every 50 ms", listening)
	idle := func() time.Duration { return 2200*time.Millisecond + rand.N(time.Second) } // so long that the worker polls at its leisure
	listening, err = m.spread(ctx, true, idle)
	if err != nil {
		return err
	}
	line("with LISTEN, a row every 2.7 s", listening)
	polling, err := m.spread(ctx, false, idle)
	if err != nil {
		return err
	}
	line(fmt.Sprintf("polling only (every %s), a row every 2.7 s", outbox.DefaultPollInterval), polling)
	fmt.Println()
	return nil
}

// spread measures on several databases at once what takes long only because it waits.
func (m *outboxMeasure) spread(ctx context.Context, listen bool, gap func() time.Duration) ([]time.Duration, error) {
	const databases = 8
	var mu sync.Mutex
	var all []time.Duration
	group, ctx := errgroup.WithContext(ctx)
	for i := range databases {
		name, err := m.copyOf(ctx, fmt.Sprintf("bench_latency_%t_%d", listen, i))
		if err != nil {
			return nil, err
		}
		group.Go(func() error {
			took, err := m.samples(ctx, name, listen, max(1, m.rowsTimed/8/databases), gap)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			return err
		})
	}
	return all, group.Wait()
}

// samples commits rows one after the other while a worker runs.
func (m *outboxMeasure) samples(ctx context.Context, name string, listen bool, n int, gap func() time.Duration) ([]time.Duration, error) {
	pool, err := m.worker(ctx, name)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	owner, err := pgxpool.New(ctx, m.cluster.URL("postgres", name)+"&pool_max_conns=1")
	if err != nil {
		return nil, err
	}
	defer owner.Close()
	if _, err := owner.Exec(ctx, "truncate paidonce.outbox"); err != nil {
		return nil, err
	}
	o := outbox.Options{DB: pool, Logger: quiet}
	if listen {
		o.ListenURL = m.cluster.URL("paidonce_worker", name)
	}
	w, err := outbox.New(o)
	if err != nil {
		return nil, err
	}
	started := make(chan time.Time, 1)
	w.Handle("noop.*", func(context.Context, outbox.Action) (json.RawMessage, error) {
		started <- time.Now()
		return nil, nil
	})
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	time.Sleep(500 * time.Millisecond) // LISTEN has to be in place
	var took []time.Duration
	for i := range n {
		time.Sleep(gap())
		committed, err := commitRow(ctx, owner, i)
		if err != nil {
			stop()
			<-done
			return nil, err
		}
		took = append(took, (<-started).Sub(committed))
	}
	stop()
	return took, <-done
}

func commitRow(ctx context.Context, pool *pgxpool.Pool, i int) (time.Time, error) {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := tx.Exec(ctx, "select paidonce.enqueue_once($1::text, null, 'noop.test', '{}')", fmt.Sprint("latency:", i)); err != nil {
		return time.Time{}, err
	}
	at := time.Now()
	return at, tx.Commit(ctx)
}
