package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/senders"
)

// workerConns are enough to claim twice at once, settle, count, run due work, and write refetched objects down.
const workerConns = 8

// span is a duration; a bare number is taken for seconds.
type span time.Duration

func (s *span) UnmarshalText(text []byte) error {
	if seconds, err := strconv.ParseFloat(string(text), 64); err == nil {
		*s = span(seconds * float64(time.Second))
		return nil
	}
	d, err := time.ParseDuration(string(text))
	*s = span(d)
	return err
}

// sendingFlags are shared by the commands that send outbox rows.
type sendingFlags struct {
	ListenDatabaseURL string `name:"listen-database-url" env:"LISTEN_DATABASE_URL" placeholder:"URL" help:"Direct or session connection for LISTEN, where DATABASE_URL is a transaction pooler's; DATABASE_URL when not given."`

	StripeSecretKey string  `name:"stripe-secret-key" env:"STRIPE_SECRET_KEY" placeholder:"sk_…" help:"Send stripe.refetch and stripe.*."`
	StripeAPIBase   string  `name:"stripe-api-base" env:"STRIPE_API_BASE" placeholder:"URL" help:"Instead of Stripe's own address."`
	RefetchRate     float64 `placeholder:"N" help:"Most refetches a second of this process (20)."`
	ResendAPIKey    string  `name:"resend-api-key" env:"RESEND_API_KEY" placeholder:"re_…" help:"Send email.* through Resend."`
	ResendAPIBase   string  `name:"resend-api-base" env:"RESEND_API_BASE" placeholder:"URL" help:"Instead of Resend's own address."`

	OutboxHTTPURL          string `name:"outbox-http-url" env:"OUTBOX_HTTP_URL" placeholder:"URL" help:"Post http.* there."`
	OutboxHTTPSecret       string `name:"outbox-http-secret" env:"OUTBOX_HTTP_SECRET" placeholder:"whsec_…" help:"What these posts are signed with."`
	OutboxHTTPAllowPrivate bool   `name:"outbox-http-allow-private" env:"OUTBOX_HTTP_ALLOW_PRIVATE" help:"Also post to loopback and private addresses."`

	Lease       span `name:"outbox-lease" env:"OUTBOX_LEASE" default:"1m" placeholder:"DURATION" help:"How long a row is one worker's; a send may take two thirds of it (${default})."`
	MaxAttempts int  `name:"outbox-max-attempts" env:"OUTBOX_MAX_ATTEMPTS" placeholder:"N" help:"A row is dead after so many (30; refetches are not given up)."`
	BackoffBase span `name:"outbox-backoff-base" env:"OUTBOX_BACKOFF_BASE" placeholder:"DURATION" help:"Most that is waited after a first attempt; doubled after each further one, up to a quarter of an hour (1s)."`
	Poll        span `name:"outbox-poll" default:"1s" placeholder:"DURATION" help:"How often to look for rows and due work that no notice told of (${default})."`
	Concurrency int  `name:"outbox-concurrency" default:"32" placeholder:"N" help:"Most sends at once of each of email.*, http.* and stripe.* (${default})."`
}

func (f sendingFlags) check() error {
	if f.Lease < span(100*time.Millisecond) {
		return errors.New("--outbox-lease (OUTBOX_LEASE) must be at least 100ms")
	}
	if f.Poll <= 0 || f.Concurrency <= 0 || f.MaxAttempts < 0 || f.BackoffBase < 0 || f.RefetchRate < 0 {
		return errors.New("the settings of the outbox must be above zero")
	}
	return nil
}

// sending is a worker that is ready to run, and the connections that it holds.
type sending struct {
	*outbox.Worker
	pool    *pgxpool.Pool
	actions []string
}

// tell says what a worker without senders does.
func (s *sending) tell(log *slog.Logger) {
	if len(s.actions) == 0 {
		log.Info("due work only: no sender is configured, so outbox rows wait", "next", configureSenders)
	}
}

// worker builds the worker that the flags describe. It may have no senders.
func (f sendingFlags) worker(ctx context.Context, d databaseFlags, pooler bool, grace time.Duration, registry prometheus.Registerer, log *slog.Logger) (_ *sending, err error) {
	pool, err := d.open(ctx, database.Options{PoolerMode: pooler, MaxConns: workerConns, ApplicationName: "paidonce worker"})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			pool.Close()
		}
	}()
	metrics, err := outbox.NewMetrics(registry)
	if err != nil {
		return nil, err
	}
	w, err := outbox.New(outbox.Options{
		DB: pool, ListenURL: cmp.Or(f.ListenDatabaseURL, d.DatabaseURL), Lease: time.Duration(f.Lease), PollInterval: time.Duration(f.Poll),
		Concurrency: f.Concurrency, Grace: grace, Logger: log, Metrics: metrics,
	})
	if err != nil {
		return nil, misuse{err: err, next: "correct LISTEN_DATABASE_URL, or leave it empty to use DATABASE_URL"}
	}
	actions, err := senders.Register(w, pool, senders.Config{
		StripeKey: f.StripeSecretKey, StripeBase: f.StripeAPIBase, RefetchRate: f.RefetchRate,
		ResendKey: f.ResendAPIKey, ResendBase: f.ResendAPIBase,
		HTTPURL: f.OutboxHTTPURL, HTTPSecret: f.OutboxHTTPSecret, HTTPAllowPrivate: f.OutboxHTTPAllowPrivate,
		Policy: outbox.Policy{MaxAttempts: f.MaxAttempts, BackoffBase: time.Duration(f.BackoffBase)},
	})
	if err != nil {
		return nil, misuse{err: err, next: "correct the setting that it names; " + configureSenders}
	}
	return &sending{Worker: w, pool: pool, actions: actions}, nil
}

const configureSenders = "STRIPE_SECRET_KEY is for stripe.*, RESEND_API_KEY for email.*, OUTBOX_HTTP_URL and OUTBOX_HTTP_SECRET for http.*"
