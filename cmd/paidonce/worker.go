package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/paidonce/paidonce/internal/server"
)

type workerCommand struct {
	databaseFlags
	sendingFlags
	MetricsAddr string        `placeholder:"HOST:PORT" help:"Serve /metrics, /healthz and /readyz there."`
	PoolerMode  bool          `help:"DATABASE_URL leads to a transaction pooler; port 6543 is taken for one anyway."`
	Grace       time.Duration `default:"10s" help:"At shutdown, how long what is in flight may take (${default})."`
	LogFormat   string        `default:"text" enum:"text,json" help:"text or json, to standard error (${default})."`
}

func (workerCommand) Help() string {
	return `Sends outbox rows whose sender is configured: ` + configureSenders + `.
All others wait. Does due work: what waited in the database and has become possible. Any number of workers may run. The login needs to be a member of role paidonce_worker and nothing more.
SIGTERM or Ctrl-C: claims no more, finishes what is in flight, gives the rest back, exits with 0.`
}

func (c workerCommand) Validate() error {
	if c.Grace <= 0 {
		return errors.New("grace must be above zero")
	}
	return c.sendingFlags.check()
}

func (c workerCommand) Run(ctx context.Context, io streams) error {
	log := newLogger(io, c.LogFormat)
	registry := newRegistry()
	w, err := c.worker(ctx, c.databaseFlags, c.PoolerMode, c.Grace, registry, log)
	if err != nil {
		return err
	}
	defer w.pool.Close()
	w.tell(log)
	if err := server.RegisterPool(registry, w.pool); err != nil {
		return err
	}
	ready := server.CheckWorker(w.pool)
	go warnUnready(ctx, log, "nothing is sent or done until this is mended", ready)
	if c.MetricsAddr == "" {
		return w.Run(ctx)
	}
	s, err := server.Listen(ctx, server.Options{Addr: c.MetricsAddr, Ready: ready, Metrics: registry, Logger: log, Grace: time.Second})
	if err != nil {
		return misuse{err: err, next: "choose another --metrics-addr"}
	}
	log.Info("serving metrics", "addr", s.Addr())
	return together(ctx, w.Run, s.Serve)
}

// together runs both until ctx ends or one of them does, and waits for both.
func together(ctx context.Context, both ...func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, len(both))
	for _, run := range both {
		go func() {
			defer stop() // one without the other is of no use
			ended <- run(ctx)
		}()
	}
	var errs []error
	for range both {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}

func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

func newLogger(io streams, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(io.err, nil))
	}
	return slog.New(slog.NewTextHandler(io.err, nil))
}
