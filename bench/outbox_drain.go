package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/paidonce/paidonce/go/outbox"
)

func splitList(text string) []string { return strings.Split(text, ",") }

// drainer empties the queue of waiting rows.
type drainer struct {
	name  string
	rows  int
	run   func(ctx context.Context, rows int) error
	rates []float64
}

// drain compares the worker with loops that are as bare as they can be: no lease, no fencing, nothing sent,
// the row marked in the transaction that has found it.
func (m *outboxMeasure) drain(ctx context.Context) error {
	drainers := []*drainer{
		// One row at a time waits for the disk each time: a tenth of the rows is enough to see how fast that is.
		{name: "raw loop, 1 row a transaction, 1 connection", rows: (m.rows + 9) / 10, run: m.raw(1, 1)},
		{name: "raw loop, 1 row a transaction, 8 connections", rows: (m.rows + 9) / 10, run: m.raw(1, 8)},
		{name: fmt.Sprintf("raw loop, %d rows a transaction, 1 connection", m.batch), rows: m.rows, run: m.raw(m.batch, 1)},
		{name: fmt.Sprintf("raw loop, %d rows a transaction, 2 connections", m.batch), rows: m.rows, run: m.raw(m.batch, 2)},
		{name: "paidonce's worker, no-op sender", rows: m.rows, run: m.work},
	}
	for round := range m.rounds {
		for i := range drainers {
			d := drainers[(i+round)%len(drainers)]
			if err := m.queue(ctx, d.rows); err != nil {
				return err
			}
			began := time.Now()
			if err := d.run(ctx, d.rows); err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
			d.rates = append(d.rates, float64(d.rows)/time.Since(began).Seconds())
			if n, err := m.sent(ctx); err != nil || n != d.rows {
				return fmt.Errorf("%s: %d of %d rows are sent: %w", d.name, n, d.rows, err)
			}
			progress("\rdrain, round %d of %d: %d of %d ", round+1, m.rounds, i+1, len(drainers))
		}
	}
	progress("\r\033[K")
	fmt.Printf("%d rows that wait, sent by one process (median of %d)\n", m.rows, m.rounds)
	for _, d := range drainers {
		fmt.Printf("  %-50s %8.0f rows/s\n", d.name, median(d.rates))
	}
	fmt.Println()
	return nil
}

// raw finds rows with `for update skip locked` and marks them, until there are none.
func (m *outboxMeasure) raw(batch, connections int) func(context.Context, int) error {
	return func(ctx context.Context, _ int) error { return m.rawLoops(ctx, batch, connections) }
}

func (m *outboxMeasure) rawLoops(ctx context.Context, batch, connections int) error {
	var group sync.WaitGroup
	errs := make(chan error, connections)
	for range connections {
		group.Go(func() {
			conn, err := m.owner.Acquire(ctx)
			if err != nil {
				errs <- err
				return
			}
			defer conn.Release()
			for {
				n, err := m.rawOnce(ctx, conn, batch)
				if err != nil {
					errs <- err
				}
				if err != nil || n == 0 {
					return
				}
			}
		})
	}
	group.Wait()
	close(errs)
	return <-errs
}

func (m *outboxMeasure) rawOnce(ctx context.Context, conn *pgxpool.Conn, batch int) (int, error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	rows, err := tx.Query(ctx, `
		select id, payload from paidonce.outbox where status = 'pending' and action collate "C" = 'noop.test' and next_attempt_at <= now()
		order by next_attempt_at, id limit $1 for update skip locked`, batch)
	if err != nil {
		return 0, err
	}
	var ids []int64
	for rows.Next() {
		var id int64
		var payload json.RawMessage
		if err := rows.Scan(&id, &payload); err != nil {
			return 0, err
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil || len(ids) == 0 {
		return 0, err
	}
	if _, err := tx.Exec(ctx, `update paidonce.outbox set status = 'sent', sent_at = now(), attempts = attempts + 1 where id = any($1)`, ids); err != nil {
		return 0, err
	}
	return len(ids), tx.Commit(ctx)
}

// work lets a worker send the rows, and is over when the last outcome is written down.
func (m *outboxMeasure) work(ctx context.Context, rows int) error {
	pool, err := m.worker(ctx, m.name)
	if err != nil {
		return err
	}
	defer pool.Close()
	w, err := outbox.New(outbox.Options{DB: pool, Batch: m.batch, Logger: quiet})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var sent atomic.Int64
	w.Handle("noop.*", func(context.Context, outbox.Action) (json.RawMessage, error) {
		if sent.Add(1) == int64(rows) {
			stop() // the end of Run waits for the last outcomes
		}
		return nil, nil
	})
	return w.Run(running)
}
