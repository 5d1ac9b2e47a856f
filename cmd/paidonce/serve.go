package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/server"
)

type serveCommand struct {
	databaseFlags
	sendingFlags
	Addr          string        `default:":8080" placeholder:"HOST:PORT" help:"Where to listen (${default})."`
	MetricsAddr   string        `placeholder:"HOST:PORT" help:"Serve /metrics there instead of on --addr."`
	WebhookSecret string        `env:"STRIPE_WEBHOOK_SECRET" placeholder:"whsec_…" help:"Signing secret of the endpoint; several, separated by commas, while one is rotated."`
	Tolerance     time.Duration `default:"${tolerance}" help:"How far a signature's time may be off, either way (${default})."`
	Timeout       time.Duration `default:"${timeout}" help:"For the database's work on one delivery, retries included (${default})."`
	MaxBody       int64         `default:"${maxbody}" placeholder:"BYTES" help:"Largest body accepted (${default})."`
	MaxConns      int32         `default:"10" placeholder:"N" help:"Most connections to Postgres (${default})."`
	PoolerMode    bool          `help:"DATABASE_URL leads to a transaction pooler; port 6543 is taken for one anyway."`
	NoWorker      bool          `help:"Neither send outbox rows nor do due work: a \"paidonce worker\" does."`
	Grace         time.Duration `default:"10s" help:"At shutdown, how long what is in flight may take (${default})."`
	Drain         time.Duration `default:"0s" help:"At shutdown, how long to go on accepting while /readyz says no; for load balancers that need notice (${default})."`
	LogFormat     string        `default:"text" enum:"text,json" help:"text or json, to standard error (${default})."`
}

func (serveCommand) Help() string {
	return `POST /webhooks/stripe takes events; GET /healthz says that the process lives, /readyz that a delivery sent now could
be processed, /metrics counts. The login in DATABASE_URL needs to be a member of role paidonce_edge and nothing more.
It also is a worker, as "paidonce worker" describes; if a sender is configured, the login needs role paidonce_worker, too.
SIGTERM or Ctrl-C: stops accepting, finishes what is in flight, exits with 0; with 1 if something had to be cut off.`
}

func (c serveCommand) Validate() error {
	if c.Tolerance <= 0 || c.Timeout <= 0 || c.MaxBody <= 0 || c.MaxConns <= 0 || c.Grace <= 0 || c.Drain < 0 {
		return errors.New("tolerance, timeout, max-body, max-conns and grace must be above zero")
	}
	return c.sendingFlags.check()
}

func (c serveCommand) Run(ctx context.Context, io streams) error {
	log := newLogger(io, c.LogFormat)
	if strings.TrimSpace(c.WebhookSecret) == "" {
		return misuse{
			err:  errors.New("no signing secret: STRIPE_WEBHOOK_SECRET is empty"),
			next: "set STRIPE_WEBHOOK_SECRET to the endpoint's whsec_… (Stripe: Developers, Webhooks, your endpoint, Signing secret)",
		}
	}
	// Split here and not by the flag's parser, which drops an empty last one: "whsec_a," must not pass.
	secrets, err := webhook.ParseSecrets(c.WebhookSecret)
	if err != nil {
		return misuse{err: err, next: "correct STRIPE_WEBHOOK_SECRET: one whsec_…, or several separated by commas"}
	}
	for _, secret := range secrets {
		if !strings.HasPrefix(secret, "whsec_") {
			log.Warn("a signing secret of Stripe begins with whsec_, one of these does not: deliveries signed with the right one will be refused")
		}
	}
	pool, err := c.open(ctx, database.Options{PoolerMode: c.PoolerMode, MaxConns: c.MaxConns, ApplicationName: "paidonce serve"})
	if err != nil {
		return err
	}
	defer pool.Close()

	registry := newRegistry()
	if err := server.RegisterPool(registry, pool); err != nil {
		return err
	}
	metrics, err := webhook.NewMetrics(registry)
	if err != nil {
		return err
	}
	hook, err := webhook.New(webhook.Options{
		Secrets: secrets, DB: pool, Tolerance: c.Tolerance, Timeout: c.Timeout, MaxBody: c.MaxBody, Logger: log, Metrics: metrics,
	})
	if err != nil {
		return misuse{err: err, next: "correct STRIPE_WEBHOOK_SECRET: one whsec_… or several separated by commas"}
	}
	ready := server.CheckEntryPoint(pool)
	run, closeWorker, err := c.startWorker(ctx, registry, log)
	if err != nil {
		return err
	}
	defer closeWorker()
	s, err := server.Listen(ctx, server.Options{
		Addr: c.Addr, MetricsAddr: c.MetricsAddr, Webhook: hook, Ready: ready, Metrics: registry, Logger: log, Grace: c.Grace, Drain: c.Drain,
	})
	if err != nil {
		return misuse{err: err, next: "choose another --addr or --metrics-addr"}
	}
	log.Info("listening", "addr", s.Addr(), "webhook", server.WebhookPath, "metrics", s.MetricsAddr(), "secrets", len(secrets))
	go warnUnready(ctx, log, "deliveries are answered with 503 until this is mended", ready)
	if err := together(ctx, append(run, s.Serve)...); err != nil {
		return err
	}
	log.Info("stopped, nothing was left in flight")
	return nil
}

// startWorker prepares the worker that runs beside the webhook, unless another process is to be it.
func (c serveCommand) startWorker(ctx context.Context, registry prometheus.Registerer, log *slog.Logger) (run []func(context.Context) error, end func(), err error) {
	if c.NoWorker {
		return nil, func() {}, nil
	}
	w, err := c.worker(ctx, c.databaseFlags, c.PoolerMode, c.Grace, registry, log)
	if err != nil {
		return nil, nil, err
	}
	w.tell(log)
	if len(w.actions) > 0 { // due work needs no more than the webhook does
		go warnUnready(ctx, log, "outbox rows are not sent until this is mended", server.CheckWorker(w.pool))
	}
	return []func(context.Context) error{w.Run}, w.pool.Close, nil
}

// warnUnready says at once what the first delivery or claim would find out. It is no reason not to start:
// Postgres may come up later, and Stripe delivers again.
func warnUnready(ctx context.Context, log *slog.Logger, meaning string, ready func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := ready(ctx); err != nil && !errors.Is(err, context.Canceled) {
		log.Warn("not ready: "+meaning, "error", database.Redact(err.Error()), "next", database.Hint(err))
	}
}
