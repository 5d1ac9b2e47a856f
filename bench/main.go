// Bench measures how fast paidonce takes events, beside what one could do instead, on a throwaway Postgres
// with fsync on. All variants run in one go, taking turns in short rounds, so that whatever else the machine
// does hits all of them alike; what is printed are the medians.
//
// After that it plays real traffic: see traffic.go; `bench traffic` plays nothing else.
// See the variants in variants.go, and `bench -help` for what can be set.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type options struct {
	rounds        int
	seconds       float64
	clients       []int
	subscriptions int
	delay         time.Duration
	stored        int
	profile       bool
	only          []string
	plan          trafficOptions
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := begin(ctx, os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func begin(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "outbox" {
		return outboxBench(ctx, args[1:])
	}
	trafficOnly := len(args) > 0 && args[0] == "traffic"
	if trafficOnly {
		args = args[1:]
	}
	o, err := parse(args)
	o.plan.alone = trafficOnly
	if err != nil {
		return err
	}
	return run(ctx, o)
}

func parse(args []string) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 5, "rounds; medians are taken over them")
	flags.Float64Var(&o.seconds, "seconds", 0.8, "seconds of one measurement in one round")
	clients := flags.String("clients", "1,16", "numbers of parallel clients")
	flags.IntVar(&o.subscriptions, "subscriptions", 5000, "subscriptions that the events are about")
	flags.DurationVar(&o.delay, "delay", time.Millisecond, "network delay between handler and database, each way, in the delayed part (half of it is measured, too)")
	flags.IntVar(&o.stored, "stored", 0, "measure only the claim: 50,000 stored events against this many (try 5000000)")
	flags.BoolVar(&o.profile, "profile", false, "measure only where the time of a first delivery goes inside the server")
	only := flags.String("only", "", "keys of the variants to measure, such as a,c (default all)")
	flags.IntVar(&o.plan.events, "events", 0, "mixed events of one measurement of traffic, in one round (default 2000, in -rounds rounds but no more than 3; try 20000)")
	flags.BoolVar(&o.plan.quick, "quick", false, "everything in under two minutes: one short round of each")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	set := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	if o.plan.quick {
		o.quicken(set)
	}
	for text := range strings.SplitSeq(*clients, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return o, fmt.Errorf("-clients: %q is no number of clients", text)
		}
		o.clients = append(o.clients, n)
	}
	o.plan.clients = []int{1, 4, 16, 64}
	if set["clients"] {
		o.plan.clients = o.clients
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	if o.rounds < 1 || o.seconds <= 0 || o.subscriptions < 1 || o.delay < 0 {
		return o, errors.New("rounds, seconds and subscriptions must be more than none")
	}
	return o, nil
}

// quicken makes short what was not asked for by its own flag.
func (o *options) quicken(set map[string]bool) {
	if !set["rounds"] {
		o.rounds = 1
	}
	if !set["seconds"] {
		o.seconds = 0.25
	}
	if !set["subscriptions"] {
		o.subscriptions = 500
	}
}

func run(ctx context.Context, o options) (err error) {
	if o.plan.alone {
		o.subscriptions = 1 // its customers bring their own
	}
	b, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.describe(ctx); err != nil {
		return err
	}
	if o.plan.alone {
		return b.traffic(ctx)
	}
	fmt.Printf("customer.subscription.updated of %d bytes, over %d subscriptions of as many customers\n\n", len(bodyFor(1, 1)), b.subscriptions)
	switch {
	case o.profile:
		return b.profile(ctx)
	case o.stored > 0:
		return b.compareStored(ctx)
	}
	stage := len(b.closers)
	if err := b.compare(ctx); err != nil || len(b.only) > 0 {
		return err
	}
	fmt.Println()
	// The server has not got connections for the variants' pools and 64 clients at the same time.
	if err := b.closeDownTo(stage); err != nil {
		return err
	}
	return b.traffic(ctx)
}
