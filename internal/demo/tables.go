package demo

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// querier is what the checks need of a connection.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// rows is what the tables hold of one event, or what they must hold.
type rows struct {
	events     int    // rows in paidonce.events
	status     string // of that row
	deliveries int    // rows in paidonce.deliveries
	effects    int    // rows that the effect left; see episode
	outbox     int    // rows in paidonce.outbox with the episode's action
	also       string // the event's other outbox rows by action, the kit's own among them; only shown
	doubled    int    // outbox rows that say the same as another of the event's
}

// readRows counts what is there now. Nothing is remembered from what was sent.
func readRows(ctx context.Context, db querier, e episode) (rows, error) {
	const count = `
select
    (select count(*) from paidonce.events where event_id = $1::text),
    coalesce((select min(status) from paidonce.events where event_id = $1::text), 'none'),
    (select count(*) from paidonce.deliveries where event_id = $1::text),
    (select count(*) from paidonce.outbox where event_id = $1::text and action = $2::text),
    coalesce((
        select string_agg(o.n || ' ' || o.action, ', ' order by o.action)
        from (
            select action, count(*) as n from paidonce.outbox
            where event_id = $1::text and action <> $2::text
            group by action
        ) as o
    ), ''),
    (select count(*) - count(distinct (action, payload)) from paidonce.outbox where event_id = $1::text)`
	var r rows
	if err := db.QueryRow(ctx, count, e.event.ID, e.action).Scan(&r.events, &r.status, &r.deliveries, &r.outbox, &r.also, &r.doubled); err != nil {
		return r, fmt.Errorf("count the rows of %s: %w", e.event.ID, err)
	}
	if err := db.QueryRow(ctx, e.effectSQL).Scan(&r.effects); err != nil {
		return r, fmt.Errorf("count the effects of %s: %w", e.event.ID, err)
	}
	return r, nil
}

// compare names every difference between what the tables hold and what they must hold.
func compare(subject string, want, found rows) []string {
	var wrong []string
	differ := func(what string, want, found any) {
		if want != found {
			wrong = append(wrong, fmt.Sprintf("%s, %s: expected %v, found %v", subject, what, want, found))
		}
	}
	differ("event rows", want.events, found.events)
	differ("status", want.status, found.status)
	differ("deliveries", want.deliveries, found.deliveries)
	differ("effects", want.effects, found.effects)
	differ("outbox rows", want.outbox, found.outbox)
	differ("outbox rows said twice", want.doubled, found.doubled)
	return wrong
}

// countAll adds up the rows of every table of the kit and of the app, those of later versions included.
func countAll(ctx context.Context, db querier) (int, error) {
	const tables = `
select format('select count(*) from %I.%I', n.nspname, c.relname)
from pg_class as c
join pg_namespace as n on n.oid = c.relnamespace
where n.nspname in ('paidonce', 'app') and c.relkind in ('r', 'p')`
	result, err := db.Query(ctx, tables)
	if err != nil {
		return 0, fmt.Errorf("list the tables: %w", err)
	}
	queries, err := pgx.CollectRows(result, pgx.RowTo[string])
	if err != nil {
		return 0, fmt.Errorf("list the tables: %w", err)
	}
	total := 0
	for _, query := range queries {
		var n int
		if err := db.QueryRow(ctx, query).Scan(&n); err != nil {
			return 0, fmt.Errorf("count all rows: %w", err)
		}
		total += n
	}
	return total, nil
}

// rights counts what the handler's login may do: functions it may execute and tables it may touch, among
// everything in the schemas that matter.
func rights(ctx context.Context, db querier) (functions, tables int, err error) {
	const count = `
select
    (select count(*) from pg_proc as p where p.pronamespace in (select oid from s)
        and has_function_privilege($1::text, p.oid, 'execute')),
    (select count(*) from pg_class as c where c.relnamespace in (select oid from s) and c.relkind in ('r', 'p', 'v', 'm')
        and has_table_privilege($1::text, c.oid, 'select, insert, update, delete, truncate'))`
	err = db.QueryRow(ctx, `with s as (select oid from pg_namespace where nspname in ('public', 'paidonce', 'app'))`+count, handlerRole).
		Scan(&functions, &tables)
	if err != nil {
		return 0, 0, fmt.Errorf("look up the handler's rights: %w", err)
	}
	return functions, tables, nil
}
