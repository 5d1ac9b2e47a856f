package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/paidonce/paidonce/internal/testing/cluster"
)

// profile shows where the time of a first delivery goes, with one client: first the whole as the client sees
// it, beside what cannot be saved (a round trip, a commit, taking the body in, the bare insert), then the
// server's own account by function and, where pg_stat_statements is installed, by statement. The account is
// kept in a run of its own, since keeping it costs time.
func (b *bench) profile(ctx context.Context) error {
	v, err := b.variant(ctx, "profile", "first delivery")
	if err != nil {
		return err
	}
	pool, err := b.pool(ctx, b.cluster.URL(cluster.Superuser, v.database()))
	if err != nil {
		return err
	}
	lazy, err := b.pool(ctx, b.cluster.URL(cluster.Superuser, v.database())+"&synchronous_commit=off")
	if err != nil {
		return err
	}
	exec := func(sql string, withBody bool) deliverer {
		return func(ctx context.Context, d delivery) (string, error) {
			var args []any
			if withBody {
				args = []any{d.body}
			}
			_, err := pool.Exec(ctx, sql, args...)
			return "", err
		}
	}
	pieces := []struct {
		name string
		take deliverer
	}{
		{"a round trip: select 1", exec("select 1", false)},
		{"and a small commit: insert of one number", exec("insert into bench.small values (1)", false)},
		{"the body taken in as jsonb: select $1::jsonb", exec("select pg_column_size($1::jsonb)", true)},
		{"(a) bare insert", bare(pool, "bench.bare")},
		{"(c) first delivery, its commit not waiting for the disk", function(lazy)},
		{"(c) first delivery", function(pool)},
	}
	if _, err := v.admin.Exec(ctx, "create table bench.small (n int)"); err != nil {
		return err
	}
	var cells []*cell
	for _, p := range pieces {
		one := *v
		one.take = p.take
		cells = append(cells, &cell{variant: &one, clients: 1})
	}
	if err := b.measure(ctx, cells); err != nil {
		return err
	}
	w := table()
	fmt.Fprintf(w, "as the client sees it, one client\tms\t\n")
	for i, c := range cells {
		fmt.Fprintf(w, "%s\t%.3f\t\n", pieces[i].name, 1000/c.rate())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return b.account(ctx, v)
}

// account lets the server count, for a run of first deliveries of its own.
func (b *bench) account(ctx context.Context, v *variant) error {
	conn, err := pgx.Connect(ctx, b.cluster.URL(cluster.Superuser, v.database()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, noStatements := conn.Exec(ctx, "create extension pg_stat_statements")
	for _, sql := range []string{"set track_functions = 'all'", "select pg_stat_reset()"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	take := func(ctx context.Context, d delivery) (string, error) {
		var raw []byte
		if err := conn.QueryRow(ctx, call, d.body).Scan(&raw); err != nil {
			return "", err
		}
		return outcomeOf(raw)
	}
	one := *v
	one.take = take
	c := &cell{variant: &one, clients: 1}
	if _, err := c.run(ctx, time.Second); err != nil { // plans are made now
		return err
	}
	if noStatements == nil {
		if _, err := conn.Exec(ctx, "select pg_stat_statements_reset()"); err != nil {
			return err
		}
	}
	for _, sql := range []string{"select pg_stat_force_next_flush()", "select pg_stat_reset()"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if _, err := c.run(ctx, time.Duration(b.seconds*float64(b.rounds)*float64(time.Second))); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "select pg_stat_force_next_flush()"); err != nil {
		return err
	}
	var deliveries int64
	if err := conn.QueryRow(ctx, "select calls from pg_stat_user_functions where funcname = 'handle_stripe_event'").Scan(&deliveries); err != nil {
		return err
	}
	fmt.Printf("\nby function, of %d first deliveries (counting included; self is without the functions called)\n", deliveries)
	err = printRows(ctx, conn, "function\tcalls\tms\tself ms", `
		select schemaname || '.' || funcname, calls::float8 / $1, total_time / $1, self_time / $1
		from pg_stat_user_functions where calls > 0 order by self_time desc`, deliveries)
	if err != nil || noStatements != nil {
		return err
	}
	fmt.Printf("\nby statement, those of the functions included (so a call counts what it calls)\n")
	return printRows(ctx, conn, "statement\tcalls\tms\tWAL kB", `
		select left(regexp_replace(query, '\s+', ' ', 'g'), 90), sum(calls)::float8 / $1, sum(total_exec_time) / $1, sum(wal_bytes)::float8 / $1 / 1000
		from pg_stat_statements where calls >= $1 / 4 group by 1 order by 3 desc limit 30`, deliveries)
}

func printRows(ctx context.Context, conn *pgx.Conn, head, sql string, deliveries int64) error {
	rows, err := conn.Query(ctx, sql, deliveries)
	if err != nil {
		return err
	}
	defer rows.Close()
	w := table()
	fmt.Fprintln(w, head+"\t")
	for rows.Next() {
		var name string
		var calls, first, second float64
		if err := rows.Scan(&name, &calls, &first, &second); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.4f\t%.4f\t\n", strings.TrimSpace(name), calls, first, second)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return w.Flush()
}
