package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/paidonce/paidonce/internal/testing/traffic"
)

type trafficOptions struct {
	alone   bool // nothing else is measured
	quick   bool
	events  int
	clients []int
}

// trafficCell is one line of a table of traffic: one way of taking events under one load.
type trafficCell struct {
	name      string
	foreign   bool // not paidonce: its deadlocks and ends are not looked at
	clients   int
	rates     []float64
	times     []time.Duration
	answers   map[string]int
	events    int
	deadlocks int64
	wrong     int           // customers that did not end as they must
	afterward time.Duration // what a worker still had to do when the last answer had been given
}

func (c *trafficCell) rate() float64 { return median(c.rates) }

// good are the answers that say that nothing is wrong: parked events run when the user is known, and nobody
// waits for payment_method.attached.
var good = []string{"processed", "parked", "duplicate", "ignored"}

// others writes the answers that are not good.
func (c *trafficCell) others() (text string, n int) {
	var parts []string
	for _, answer := range slices.Sorted(maps.Keys(c.answers)) {
		if !slices.Contains(good, answer) {
			parts = append(parts, fmt.Sprintf("%d × %s", c.answers[answer], answer))
			n += c.answers[answer]
		}
	}
	if n == 0 {
		return "none", 0
	}
	return strings.Join(parts, ", "), n
}

// add takes over what one round has measured.
func (c *trafficCell) add(p played) {
	c.rates = append(c.rates, float64(p.events)/p.took.Seconds())
	c.times = append(c.times, p.times...)
	c.events += p.events
	c.deadlocks += p.deadlocks
	c.wrong += p.wrong
	c.afterward += p.afterward
	if c.answers == nil {
		c.answers = map[string]int{}
	}
	for answer, n := range p.answers {
		c.answers[answer] += n
	}
}

// script is what is played: how many customers, in how many rounds.
type script struct {
	customers, rounds, next int
	rng                     *rand.Rand
	generator               traffic.Generator
}

func (b *bench) script() *script {
	one, _ := traffic.Generator{}.Customer(0, traffic.All...)
	events, rounds := 2000, min(b.rounds, 3)
	switch {
	case b.plan.events > 0:
		events, rounds = b.plan.events, 1
	case b.plan.quick:
		events, rounds = 430, 1
	}
	return &script{
		customers: max(1, (events+len(one)/2)/len(one)), rounds: rounds,
		rng: rand.New(rand.NewPCG(1, 2)), generator: traffic.Generator{Seed: 1},
	}
}

// burst gives customers that nobody has seen before.
func (s *script) burst() ([]traffic.Event, []traffic.Expectation) {
	events, expected := s.generator.Burst(s.rng, s.next, s.customers, traffic.All...)
	s.next += s.customers
	return events, expected
}

// traffic measures what a shop's customers cause, instead of one type of event over and over.
func (b *bench) traffic(ctx context.Context) error {
	s := b.script()
	sample, _ := traffic.Generator{}.Customer(0, traffic.All...)
	size := 0
	for _, e := range sample {
		size += len(e.Body)
	}
	fmt.Printf("traffic: whole purchases of many customers, %d events each (first subscription, upgrade and renewal, refunds, pack and dispute,\n"+
		"failed payment), %d bytes on average, shuffled within each customer and mixed; %d events in each of %d round(s), each in a new database;\n"+
		"Postgres's own deadlock_timeout; what is not answered 200 is delivered again, as Stripe does\n\n",
		len(sample), size/len(sample), s.customers*len(sample), s.rounds)

	var cells []*trafficCell
	for _, clients := range b.plan.clients {
		cells = append(cells, &trafficCell{name: "SQL", clients: clients})
		if clients == 1 || clients == 16 {
			cells = append(cells, &trafficCell{name: "HTTP", clients: clients})
		}
	}
	for round := range s.rounds {
		for i := range cells {
			c := cells[(i+round)%len(cells)]
			events, expected := s.burst()
			p, err := b.playFresh(ctx, c.name == "HTTP", c.clients, nil, events, expected)
			if err != nil {
				return fmt.Errorf("traffic, %s, %d clients: %w", c.name, c.clients, err)
			}
			c.add(p)
			progress("\rtraffic: round %d of %d: %d of %d ", round+1, s.rounds, i+1, len(cells))
		}
	}
	progress("\r\033[K")
	if err := printTraffic(cells); err != nil {
		return err
	}
	if err := b.compareSyncEngine(ctx, s); err != nil {
		return err
	}
	if err := b.costs(ctx, s); err != nil {
		return err
	}
	return b.manyPurchases(ctx, s)
}

func printTraffic(cells []*trafficCell) error {
	w := table()
	fmt.Fprintln(w, "through\tclients\tevents/s\tp50 ms\tp99 ms\tdeadlocks\tother answers\tcustomers wrong\tworker afterwards ms\t")
	var deadlocks int64
	bad, events := 0, 0
	for _, c := range cells {
		text, n := c.others()
		locks, ends, after := fmt.Sprint(c.deadlocks), fmt.Sprint(c.wrong), milliseconds(c.afterward)
		if c.foreign {
			locks, ends, after = "-", "-", "-"
		}
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%s\t%s\t%s\t%s\t%s\t%s\t\n", c.name, c.clients, c.rate(),
			milliseconds(percentile(c.times, 0.5)), milliseconds(percentile(c.times, 0.99)), locks, text, ends, after)
		if c.foreign {
			continue
		}
		deadlocks, bad, events = deadlocks+c.deadlocks, bad+n, events+c.events
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Printf("paidonce in all: %d events, %d deadlocks, %d answers other than processed, parked, duplicate or ignored\n\n", events, deadlocks, bad)
	return nil
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }
