package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/paidonce/paidonce/internal/testing/traffic"
)

// connectionCPU is the processor time that one connection's server process has used; zero where the system does
// not tell. It is exact enough for single events.
func connectionCPU(pid uint32) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		return 0
	}
	first, _, _ := bytes.Cut(text, []byte(" "))
	n, _ := strconv.ParseInt(string(first), 10, 64)
	return time.Duration(n)
}

// single takes events one after the other and says what each cost.
type single struct{ conn *pgx.Conn }

func (s single) take(ctx context.Context, body []byte) (took, cpu time.Duration, err error) {
	pid := s.conn.PgConn().PID()
	used, began := connectionCPU(pid), time.Now()
	var raw []byte
	err = s.conn.QueryRow(ctx, call, string(body)).Scan(&raw)
	return time.Since(began), connectionCPU(pid) - used, err
}

// cost is what the events of one type cost.
type cost struct{ took, cpu []float64 } // in milliseconds

func (c *cost) add(took, cpu time.Duration) {
	c.took, c.cpu = append(c.took, took.Seconds()*1000), append(c.cpu, cpu.Seconds()*1000)
}

// openSingle makes a new database and one connection of the handler's role.
func (b *bench) openSingle(ctx context.Context, name string) (single, error) {
	if err := b.trafficDatabase(ctx, name); err != nil {
		return single{}, err
	}
	conn, err := pgx.Connect(ctx, b.cluster.URL("paidonce_edge", name))
	return single{conn}, err
}

// costs measures what an event of each type costs: one client, in the order in which Stripe makes them.
func (b *bench) costs(ctx context.Context, s *script) error {
	const name = "bench_costs"
	one, err := b.openSingle(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = one.conn.Close(ctx) }()
	customers, warmUp := 60, 5
	if b.plan.quick {
		customers = 15
	}
	byType, all := map[string]*cost{}, &cost{}
	for n := range customers + warmUp {
		events, _ := s.generator.Customer(s.next, traffic.All...)
		s.next++
		for _, e := range events {
			took, cpu, err := one.take(ctx, e.Body)
			if err != nil {
				return fmt.Errorf("%s: %w", e.Type, err)
			}
			if n < warmUp {
				continue // plans and caches are made
			}
			if byType[e.Type] == nil {
				byType[e.Type] = &cost{}
			}
			byType[e.Type].add(took, cpu)
			all.add(took, cpu)
		}
	}
	worker, err := b.due(ctx, name)
	if err != nil {
		return err
	}

	const measure = "customer.subscription.updated"
	fmt.Println("what an event of each type costs, one client, one after the other: medians; CPU is the database connection's")
	w := table()
	fmt.Fprintln(w, "type\tevents\tms\tCPU ms\tms, of a subscription's\tCPU, of a subscription's\t")
	kinds := slices.SortedFunc(maps.Keys(byType), func(a, z string) int {
		return int(1e6 * (median(byType[z].took) - median(byType[a].took)))
	})
	base := byType[measure]
	for _, kind := range kinds {
		c := byType[kind]
		fmt.Fprintf(w, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t\n", kind, len(c.took), median(c.took), median(c.cpu),
			median(c.took)/median(base.took), median(c.cpu)/median(base.cpu))
	}
	fmt.Fprintf(w, "all, mean\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t\n", len(all.took), mean(all.took), mean(all.cpu),
		mean(all.took)/mean(base.took), mean(all.cpu)/mean(base.cpu))
	if worker > 0 {
		fmt.Fprintf(w, "left to the worker, an event\t\t%.2f\t\t\t\t\n", worker.Seconds()*1000/float64((customers+warmUp)*len(all.took)/customers))
	}
	fmt.Fprintln(w)
	return w.Flush()
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(1, len(values)))
}

// due does what events have left to the worker, and says how long that took: zero where nothing is left to it.
func (b *bench) due(ctx context.Context, name string) (time.Duration, error) {
	conn, err := pgx.Connect(ctx, b.cluster.URL("postgres", name))
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	has, err := traffic.HasWorker(ctx, conn)
	if err != nil || !has {
		return 0, err
	}
	began := time.Now()
	_, err = traffic.Drain(ctx, conn)
	return time.Since(began), err
}

// manyPurchases compares what a purchase costs of a customer that has bought often with one that has not.
func (b *bench) manyPurchases(ctx context.Context, s *script) error {
	const name, few, measured = "bench_purchases", 10, 30
	many := 1000
	if b.plan.quick {
		many = 300
	}
	one, err := b.openSingle(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = one.conn.Close(ctx) }()
	before := []int{few, many}
	left := make([][]traffic.Event, len(before))
	for i, n := range before {
		events, _ := s.generator.Customer(s.next, slices.Repeat([]traffic.Story{traffic.Purchase}, n+measured)...)
		s.next++
		each := (len(events) - 1) / (n + measured)
		filling := events[:1+n*each]
		left[i] = events[1+n*each:]
		for chunk := range slices.Chunk(filling, 200) {
			batch := &pgx.Batch{}
			for _, e := range chunk {
				batch.Queue(call, string(e.Body))
			}
			if err := one.conn.SendBatch(ctx, batch).Close(); err != nil {
				return err
			}
		}
		if _, err := b.due(ctx, name); err != nil {
			return err
		}
	}
	owner, err := pgx.Connect(ctx, b.cluster.URL("postgres", name))
	if err != nil {
		return err
	}
	defer func() { _ = owner.Close(ctx) }()
	if _, err := owner.Exec(ctx, "vacuum analyze"); err != nil {
		return err
	}
	costs := []*cost{{}, {}}
	for at := range left[0] {
		for i := range before { // in turns
			took, cpu, err := one.take(ctx, left[i][at].Body)
			if err != nil {
				return err
			}
			costs[i].add(took, cpu)
		}
	}
	fmt.Println("what an event of one more purchase costs, one client: medians")
	w := table()
	fmt.Fprintln(w, "purchases so far\tms\tCPU ms\t")
	for i, n := range before {
		fmt.Fprintf(w, "%d\t%.2f\t%.2f\t\n", n, median(costs[i].took), median(costs[i].cpu))
	}
	fmt.Fprintf(w, "%d, of %d\t%.2f\t%.2f\t\n", many, few, median(costs[1].took)/median(costs[0].took), median(costs[1].cpu)/median(costs[0].cpu))
	return w.Flush()
}
