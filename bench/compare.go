package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"text/tabwriter"
	"time"
)

// compare is the default: every variant under every load, then the delayed ones, then the targets.
func (b *bench) compare(ctx context.Context) error {
	near, err := b.variants(ctx)
	if err != nil {
		return err
	}
	var cells []*cell
	add := func(variants []*variant, duplicate bool) {
		for _, clients := range b.clients {
			for _, v := range variants {
				cells = append(cells, &cell{variant: v, clients: clients, duplicate: duplicate})
			}
		}
	}
	add(near, false)
	add(near, true)
	delays := []time.Duration{b.delay / 2, b.delay}
	if !b.wanted("bh") || !b.wanted("d") {
		delays = nil
	}
	for _, oneWay := range delays {
		far, err := b.delayed(ctx, oneWay)
		if err != nil {
			return err
		}
		add(far, false)
	}
	fmt.Printf("medians of %d rounds of %v s each, in events a second; CPU is the database server's, an event\n\n", b.rounds, b.seconds)
	if err := b.measure(ctx, cells); err != nil {
		return err
	}
	r := results{cells}
	b.printNear(r, near)
	b.printFar(r, delays)
	b.printTargets(r)
	return nil
}

type results struct{ cells []*cell }

func (r results) cell(key string, clients int, duplicate bool) *cell {
	for _, c := range r.cells {
		if c.variant.key == key && c.clients == clients && c.duplicate == duplicate {
			return c
		}
	}
	return &cell{}
}

func (r results) of(key string, clients int, duplicate bool) float64 {
	return r.cell(key, clients, duplicate).rate()
}

func table() *tabwriter.Writer {
	return tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
}

// printNear sets each variant beside the bare insert of its kind: (a) at the database, (d0) over HTTP.
func (b *bench) printNear(r results, variants []*variant) {
	for _, clients := range b.clients {
		w := table()
		fmt.Fprintf(w, "%d client(s)\tfirst\tof bare\tCPU ms\tduplicate\tof bare\tCPU ms\tduplicate costs, of a first\t\n", clients)
		for _, v := range variants {
			base := "a"
			if v.key == "d0" || v.key == "bh" || v.key == "d" {
				base = "d0"
			}
			first, again := r.of(v.key, clients, false), r.of(v.key, clients, true)
			fmt.Fprintf(w, "(%s) %s\t%.0f\t%.2f\t%.2f\t%.0f\t%.2f\t%.2f\t%.2f\t\n", v.key, v.name,
				first, first/r.of(base, clients, false), median(r.cell(v.key, clients, false).cpu),
				again, again/r.of(base, clients, true), median(r.cell(v.key, clients, true).cpu), first/again)
		}
		_ = w.Flush()
		fmt.Println()
	}
}

func (b *bench) printFar(r results, delays []time.Duration) {
	if len(delays) == 0 {
		return
	}
	w := table()
	fmt.Fprintln(w, "network between handler and database, first deliveries\t(bh)\t(d)\t(d) of (bh)\t")
	for _, clients := range b.clients {
		for _, oneWay := range delays {
			other, ours := r.of(farKey("bh", oneWay), clients, false), r.of(farKey("d", oneWay), clients, false)
			fmt.Fprintf(w, "%v each way, %v a round trip, %d client(s)\t%.0f\t%.0f\t%.2f\t\n", oneWay, 2*oneWay, clients, other, ours, ours/other)
		}
	}
	_ = w.Flush()
	fmt.Println()
}

// printTargets judges what the project has set itself, at the largest number of clients.
func (b *bench) printTargets(r results) {
	n := b.clients[len(b.clients)-1]
	first := func(key string) float64 { return r.of(key, n, false) }
	again := func(key string) float64 { return r.of(key, n, true) }
	w := table()
	fmt.Fprintf(w, "target, at %d clients\twanted\tmeasured\t\t\n", n)
	for _, t := range []struct {
		name     string
		wanted   float64
		measured float64
		atMost   bool
	}{
		{"(c) of (a), first deliveries", 0.5, first("c") / first("a"), false},
		{"(d) of (d0), first deliveries", 0.6, first("d") / first("d0"), false},
		{fmt.Sprintf("(d) of (bh), network delay of %v", b.delay), 2, first(farKey("d", b.delay)) / first(farKey("bh", b.delay)), false},
		{"cost of a duplicate, of a first, (c)", 0.5, first("c") / again("c"), true},
		{"cost of a duplicate, of a first, (d)", 0.5, first("d") / again("d"), true},
	} {
		if math.IsNaN(t.measured) || math.IsInf(t.measured, 0) || t.measured == 0 {
			continue // not measured this time
		}
		sign, met := "≥", t.measured >= t.wanted
		if t.atMost {
			sign, met = "≤", t.measured <= t.wanted
		}
		fmt.Fprintf(w, "%s\t%s %.2f\t%.2f\t%s\t\n", t.name, sign, t.wanted, t.measured, verdict(met))
	}
	fmt.Fprintf(w, "cost of a claim at 5 million stored events, of that at 50,000\t≤ 1.20\t\tsee -stored 5000000\t\n")
	_ = w.Flush()
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "not met"
}
