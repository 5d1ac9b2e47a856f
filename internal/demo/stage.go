package demo

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/migrate"
	"github.com/paidonce/paidonce/internal/server"
	"github.com/paidonce/paidonce/internal/testing/cluster"
)

const (
	databaseName = "shop"
	ownerRole    = "postgres"       // migrates and owns; no superuser, as on Supabase
	handlerRole  = "stripe_handler" // what the handler logs in as
)

//go:embed app.sql
var appSQL string

// stage is everything that the story plays on: a Postgres of its own, a migrated database like a Supabase
// project's, an application's effects, and the handler as a real HTTP server.
type stage struct {
	cluster *cluster.Cluster
	owner   *pgxpool.Pool // as ownerRole
	handler *pgxpool.Pool // as handlerRole
	server  *server.Server
	secret  string
	stop    context.CancelFunc
	served  chan error
}

// build sets the stage up. What it has begun is taken down again if it fails.
func build(ctx context.Context, addr string, log *slog.Logger) (_ *stage, err error) {
	s := &stage{secret: "whsec_" + rand.Text()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.cluster, err = cluster.Start(ctx, cluster.Options{}); err != nil {
		return nil, err
	}
	if err = s.cluster.CreateDatabase(ctx, databaseName, cluster.Supabase); err != nil {
		return nil, err
	}
	if _, err = migrate.Up(ctx, s.ownerURL(), nil); err != nil {
		return nil, err
	}
	if s.owner, err = database.Open(ctx, s.ownerURL(), database.Options{}); err != nil {
		return nil, err
	}
	if _, err = s.owner.Exec(ctx, appSQL); err != nil {
		return nil, fmt.Errorf("set up the demo's app: %w", err)
	}
	if _, err = s.owner.Exec(ctx, "create role "+handlerRole+" in role paidonce_edge"); err != nil {
		return nil, fmt.Errorf("create the handler's login: %w", err)
	}
	if err = s.cluster.AllowLogin(ctx, handlerRole); err != nil {
		return nil, err
	}
	if err = s.serve(ctx, addr, log); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *stage) ownerURL() string { return s.cluster.URL(ownerRole, databaseName) }

// serve starts the handler: the same one, behind the same server, as `paidonce serve`.
func (s *stage) serve(ctx context.Context, addr string, log *slog.Logger) (err error) {
	s.handler, err = database.Open(ctx, s.cluster.URL(handlerRole, databaseName), database.Options{})
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	metrics, err := webhook.NewMetrics(registry)
	if err != nil {
		return err
	}
	hook, err := webhook.New(webhook.Options{Secrets: []string{s.secret}, DB: s.handler, Logger: log, Metrics: metrics})
	if err != nil {
		return err
	}
	s.server, err = server.Listen(ctx, server.Options{
		Addr: addr, Webhook: hook, Ready: server.CheckEntryPoint(s.handler), Metrics: registry, Logger: log, Grace: 5 * time.Second,
	})
	if err != nil {
		return err
	}
	// The server ends when close says so, after whoever speaks to it; not at once when ctx does.
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.served = make(chan error, 1)
	go func() { s.served <- s.server.Serve(ctx) }()
	return nil
}

// close takes everything down, in the opposite order. What was never set up is passed over.
func (s *stage) close() error {
	var errs []error
	if s.stop != nil {
		s.stop()
		errs = append(errs, <-s.served)
		s.stop = nil
	}
	for _, pool := range []*pgxpool.Pool{s.handler, s.owner} {
		if pool != nil {
			pool.Close()
		}
	}
	if s.cluster != nil {
		errs = append(errs, s.cluster.Stop())
	}
	return errors.Join(errs...)
}
