package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// cell is one line of the table: a variant under one load.
type cell struct {
	variant   *variant
	clients   int
	duplicate bool
	rates     []float64 // one a round, in events a second
	cpu       []float64 // one a round, the server's, in milliseconds an event
}

func (c *cell) rate() float64 { return median(c.rates) }

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// measure runs all cells in turn, round after round. The round before the first is not counted: caches,
// plans and connections are made then.
func (b *bench) measure(ctx context.Context, cells []*cell) error {
	for round := range b.rounds + 1 {
		for i := range cells {
			// Another one begins in each round, so that nobody always comes after the same neighbour.
			c := cells[(i+round)%len(cells)]
			duration := time.Duration(b.seconds * float64(time.Second))
			if round == 0 {
				duration /= 2
			}
			began, used := time.Now(), b.serverCPU()
			rate, err := c.run(ctx, duration)
			if err != nil {
				return fmt.Errorf("%s: %w", c.variant.name, err)
			}
			if round > 0 {
				events := rate * time.Since(began).Seconds()
				c.rates = append(c.rates, rate)
				c.cpu = append(c.cpu, (b.serverCPU()-used).Seconds()*1000/events)
			}
			progress("\rround %d of %d: %d of %d measurements ", round, b.rounds, i+1, len(cells))
		}
	}
	progress("\r\033[K")
	return nil
}

// progress is for somebody who watches, not for a file.
func progress(format string, args ...any) {
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintf(os.Stderr, format, args...)
	}
}

// run loads the variant for a while and returns its rate. Every answer is checked: a fast wrong one does not
// count as fast.
func (c *cell) run(ctx context.Context, duration time.Duration) (float64, error) {
	next, want := c.variant.source.fresh, "processed"
	if c.duplicate {
		next, want = c.variant.source.again, "duplicate"
		if c.variant.source.last.Load() == 0 { // nothing to duplicate yet
			if _, err := c.variant.take(ctx, c.variant.source.fresh()); err != nil {
				return 0, err
			}
		}
	} else if err := c.variant.settle(ctx); err != nil {
		return 0, err
	}

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var count atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	for range c.clients {
		group.Go(func() {
			for time.Since(began) < duration && ctx.Err() == nil {
				d := next()
				outcome, err := c.variant.take(ctx, d)
				if err == nil && outcome != "" && outcome != want {
					err = fmt.Errorf("%s was answered %q, not %q", d.id, outcome, want)
				}
				if err != nil {
					stop(err)
					return
				}
				count.Add(1)
			}
		})
	}
	group.Wait()
	return float64(count.Load()) / time.Since(began).Seconds(), context.Cause(ctx)
}
