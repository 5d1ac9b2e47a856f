package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// notify measures what waking workers up costs those who write: parallel deliveries, of which each writes an
// outbox row, under every setting of notify. A listener is there, as it would be.
func (m *outboxMeasure) notify(ctx context.Context) error {
	listener, err := pgx.Connect(ctx, m.cluster.URL("postgres", m.name))
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close(context.WithoutCancel(ctx)) }()
	if _, err := listener.Exec(ctx, "listen paidonce_outbox"); err != nil {
		return err
	}
	if _, err := m.owner.Exec(ctx, `
		create function bench.ask(event jsonb) returns void language plpgsql set search_path = '' as $$
		begin
			perform paidonce.enqueue(event, 'noop.test', '{}');
		end $$;
		select paidonce.on('bench.done', 'bench.ask(jsonb)')`); err != nil {
		return err
	}
	modes := []string{"off", "gated", "always"}
	rates := map[string][]float64{}
	next := atomic.Int64{}
	for round := range m.outboxOptions.rounds {
		for i := range modes {
			mode := modes[(i+round)%len(modes)]
			if _, err := m.owner.Exec(ctx, "truncate paidonce.outbox"); err != nil {
				return err
			}
			if _, err := m.owner.Exec(ctx, "update paidonce.settings set notify = $1", mode); err != nil {
				return err
			}
			rate, err := m.deliveries(ctx, &next)
			if err != nil {
				return fmt.Errorf("%s: %w", mode, err)
			}
			rates[mode] = append(rates[mode], rate)
			progress("\rnotify, round %d of %d ", round+1, m.outboxOptions.rounds)
		}
	}
	progress("\r\033[K")
	fmt.Printf("%d parallel handle_stripe_event calls that each write an outbox row (median of %d)\n", m.outboxOptions.clients, m.outboxOptions.rounds)
	for _, mode := range modes {
		fmt.Printf("  notify %-43s %8.0f events/s\n", mode, median(rates[mode]))
	}
	fmt.Println()
	return nil
}

// deliveries hands events in for a while from all clients and returns the rate.
func (m *outboxMeasure) deliveries(ctx context.Context, next *atomic.Int64) (float64, error) {
	const duration = 2 * time.Second
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var done atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	for range m.outboxOptions.clients {
		group.Go(func() {
			for time.Since(began) < duration && ctx.Err() == nil {
				n := next.Add(1)
				var outcome string
				err := m.owner.QueryRow(ctx, "select public.handle_stripe_event($1::jsonb) ->> 'outcome'",
					fmt.Sprintf(`{"id": "evt_notify_%d", "object": "event", "type": "bench.done", "created": 1764500000, "data": {"object": {"id": "obj_%d"}}}`, n, n)).Scan(&outcome)
				if err == nil && outcome != "processed" {
					err = fmt.Errorf("answered %q", outcome)
				}
				if err != nil {
					stop(err)
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	return float64(done.Load()) / time.Since(began).Seconds(), context.Cause(ctx)
}
