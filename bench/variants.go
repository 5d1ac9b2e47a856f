package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/testing/cluster"
)

const (
	handcodedOverHTTP = "HTTP: handler with (b)"
	paidonceOverHTTP  = "HTTP: paidonce's handler"
)

const call = "select public.handle_stripe_event($1::jsonb)"

// deliverer takes one event and returns what became of it; empty where the variant cannot say.
type deliverer func(context.Context, delivery) (string, error)

// variant is one way of taking events, with a database of its own.
type variant struct {
	key, name string
	take      deliverer
	source    *source
	admin     *pgxpool.Pool
}

// variants makes what is compared at the database, and over HTTP, without any delay.
func (b *bench) variants(ctx context.Context) ([]*variant, error) {
	makers := []struct {
		key, name string
		role      string
		make      func(*pgxpool.Pool) (deliverer, error)
	}{
		{"a", "bare insert … on conflict do nothing", "postgres", func(p *pgxpool.Pool) (deliverer, error) { return bare(p, "bench.bare"), nil }},
		{"a0", "the same, payload compressed as by default", "postgres", func(p *pgxpool.Pool) (deliverer, error) { return bare(p, "bench.bare_default"), nil }},
		{"b", "the same work, statement by statement from Go", "postgres", func(p *pgxpool.Pool) (deliverer, error) { return handcoded{p}.take, nil }},
		{"c", "select handle_stripe_event", "paidonce_edge", func(p *pgxpool.Pool) (deliverer, error) { return function(p), nil }},
		{"d0", "HTTP: handler with a bare insert", "postgres", func(p *pgxpool.Pool) (deliverer, error) { return b.overHTTP(bareQuerier(p)) }},
		{"bh", handcodedOverHTTP, "postgres", func(p *pgxpool.Pool) (deliverer, error) { return b.overHTTP(handcoded{p}) }},
		{"d", paidonceOverHTTP, "paidonce_edge", func(p *pgxpool.Pool) (deliverer, error) { return b.overHTTP(p) }},
	}
	var all []*variant
	for _, m := range makers {
		if !b.wanted(m.key) {
			continue
		}
		v, err := b.variant(ctx, m.key, m.name)
		if err != nil {
			return nil, err
		}
		pool, err := b.pool(ctx, b.cluster.URL(m.role, v.database()))
		if err != nil {
			return nil, err
		}
		if v.take, err = m.make(pool); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// delayed makes what is compared with a network between handler and database.
func (b *bench) delayed(ctx context.Context, oneWay time.Duration) ([]*variant, error) {
	far, err := listenFar(b.cluster.Port(), oneWay)
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, far.close)
	var all []*variant
	for _, m := range []struct{ key, name, role string }{
		{"bh", handcodedOverHTTP, "postgres"},
		{"d", paidonceOverHTTP, "paidonce_edge"},
	} {
		if !b.wanted(m.key) {
			continue
		}
		v, err := b.variant(ctx, farKey(m.key, oneWay), m.name)
		if err != nil {
			return nil, err
		}
		pool, err := b.pool(ctx, far.url(b.cluster.URL(m.role, v.database())))
		if err != nil {
			return nil, err
		}
		db := webhook.Querier(pool)
		if m.key == "bh" {
			db = handcoded{pool}
		}
		if v.take, err = b.overHTTP(db); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func (b *bench) wanted(key string) bool { return len(b.only) == 0 || slices.Contains(b.only, key) }

func farKey(key string, oneWay time.Duration) string { return key + "@" + oneWay.String() }

func (v *variant) database() string { return "bench_" + v.key }

func (b *bench) variant(ctx context.Context, key, name string) (*variant, error) {
	v := &variant{key: key, name: name, source: &source{subscriptions: b.subscriptions}}
	if _, err := b.copyOf(ctx, v.database()); err != nil {
		return nil, err
	}
	var err error
	v.admin, err = pgxpool.New(ctx, b.cluster.URL(cluster.Superuser, v.database())+"&pool_max_conns=1")
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, func() error { v.admin.Close(); return nil })
	return v, nil
}

// settle plays the worker that has sent what the outbox asked for. Without it no event after the first of a
// subscription would have to write a refetch, and the work would look smaller than it is.
func (v *variant) settle(ctx context.Context) error {
	_, err := v.admin.Exec(ctx, "truncate paidonce.outbox")
	return err
}

func bare(pool *pgxpool.Pool, table string) deliverer {
	sql := fmt.Sprintf("insert into %s (event_id, payload) values ($1, $2::jsonb) on conflict (event_id) do nothing", table)
	return func(ctx context.Context, d delivery) (string, error) {
		_, err := pool.Exec(ctx, sql, d.id, d.body)
		return "", err
	}
}

func function(pool *pgxpool.Pool) deliverer {
	return func(ctx context.Context, d delivery) (string, error) {
		var raw []byte
		if err := pool.QueryRow(ctx, call, d.body).Scan(&raw); err != nil {
			return "", err
		}
		return outcomeOf(raw)
	}
}
