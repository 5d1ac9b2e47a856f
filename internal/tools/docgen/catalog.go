package docgen

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// relation is a table or view.
type relation struct {
	Name    string
	IsView  bool
	Comment string
	Grants  []string // "select to authenticated", or "select (price_id, feature) to authenticated"

	columns  []column
	details  []detail
	policies []policy
}

type column struct {
	Relation string
	Name     string
	Type     string
	NotNull  bool
	Default  string
	Comment  string
}

// detail is a constraint, index or trigger.
type detail struct {
	Relation   string
	Kind       string
	Name       string
	Definition string
}

type policy struct {
	Relation string
	Name     string
	Command  string
	Roles    string
}

// routine is a function or procedure.
type routine struct {
	Schema     string
	Name       string
	Kind       string
	Arguments  string
	Result     string // empty for procedures
	Comment    string
	Volatility string
	Security   string
	Settings   []string
	Callers    []string // roles besides the owner
}

func (r routine) qualified() string { return r.Schema + "." + r.Name }

// roles of the API and of the kit; everybody else is of no interest to the pages.
const roles = `'anon', 'authenticated', 'service_role', 'paidonce_edge', 'paidonce_worker'`

// The table of applied migrations is made by whoever applies them, not declared.
const relationsSQL = `
select c.relname, c.relkind = 'v', coalesce(obj_description(c.oid, 'pg_class'), ''), array(
        select lower(a.privilege_type) || ' to ' || a.grantee::regrole
        from aclexplode(c.relacl) as a
        where a.grantee in (select oid from pg_roles where rolname in (` + roles + `))
        union
        select format('%s (%s) to %s', lower(a.privilege_type), string_agg(t.attname, ', ' order by t.attname), a.grantee::regrole)
        from pg_attribute as t, aclexplode(t.attacl) as a
        where t.attrelid = c.oid and a.grantee in (select oid from pg_roles where rolname in (` + roles + `))
        group by a.privilege_type, a.grantee
        order by 1)
from pg_class as c
where c.relnamespace = 'paidonce'::regnamespace and c.relkind in ('r', 'p', 'v') and c.relname <> 'schema_migrations'
order by c.relname`

const columnsSQL = `
select c.relname, t.attname, format_type(t.atttypid, t.atttypmod), t.attnotnull,
    case when t.attidentity <> '' then 'identity' else coalesce(pg_get_expr(d.adbin, d.adrelid), '') end,
    coalesce(col_description(c.oid, t.attnum), '')
from pg_class as c
join pg_attribute as t on t.attrelid = c.oid and t.attnum > 0 and not t.attisdropped
left join pg_attrdef as d on d.adrelid = c.oid and d.adnum = t.attnum
where c.relnamespace = 'paidonce'::regnamespace and c.relkind in ('r', 'p', 'v')
order by c.relname, t.attnum`

const detailsSQL = `
select r.relname, d.kind, d.name, d.definition
from (
    select conrelid, 'constraint', conname, pg_get_constraintdef(oid, true) from pg_constraint where contype in ('p', 'u', 'f', 'c', 'x')
    union all
    select i.indrelid, 'index', c.relname, regexp_replace(pg_get_indexdef(i.indexrelid, 0, true), '^CREATE (UNIQUE )?INDEX \S+ ON \S+ ', '\1')
    from pg_index as i
    join pg_class as c on c.oid = i.indexrelid
    where not exists (select from pg_constraint as k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
    union all
    select t.tgrelid, 'trigger', t.tgname, 'calls ' || p.oid::regprocedure
    from pg_trigger as t
    join pg_proc as p on p.oid = t.tgfoid
    where not t.tgisinternal
) as d (relation, kind, name, definition)
join pg_class as r on r.oid = d.relation
where r.relnamespace = 'paidonce'::regnamespace
order by r.relname, d.kind, d.name`

const policiesSQL = `
select c.relname, p.polname,
    case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'everything' end,
    coalesce((select string_agg(r.rolname, ', ' order by r.rolname) from pg_roles as r where r.oid = any (p.polroles)), 'everybody')
from pg_policy as p
join pg_class as c on c.oid = p.polrelid
where c.relnamespace = 'paidonce'::regnamespace
order by c.relname, p.polname`

const routinesSQL = `
select n.nspname, p.proname, case p.prokind when 'p' then 'procedure' else 'function' end,
    pg_get_function_arguments(p.oid), coalesce(pg_get_function_result(p.oid), ''), coalesce(obj_description(p.oid, 'pg_proc'), ''),
    case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
    case when p.prosecdef then 'definer' else 'invoker' end,
    coalesce(p.proconfig, '{}'),
    array(
        select r.rolname from pg_roles as r
        where r.rolname in (` + roles + `)
            and exists (select from aclexplode(p.proacl) as a where a.grantee = r.oid and a.privilege_type = 'EXECUTE')
        order by 1)
from pg_proc as p
join pg_namespace as n on n.oid = p.pronamespace
where n.nspname = 'paidonce' or (n.nspname = 'public' and p.proname = 'handle_stripe_event')
order by n.nspname, p.proname, 4`

// catalog is what the database says of itself.
type catalog struct {
	relations []relation
	routines  []routine
}

func readCatalog(ctx context.Context, db *pgx.Conn) (c catalog, err error) {
	if c.relations, err = rowsOf[relation](ctx, db, relationsSQL); err != nil {
		return c, err
	}
	if c.routines, err = rowsOf[routine](ctx, db, routinesSQL); err != nil {
		return c, err
	}
	columns, err := rowsOf[column](ctx, db, columnsSQL)
	if err != nil {
		return c, err
	}
	details, err := rowsOf[detail](ctx, db, detailsSQL)
	if err != nil {
		return c, err
	}
	policies, err := rowsOf[policy](ctx, db, policiesSQL)
	if err != nil {
		return c, err
	}
	for i := range c.relations {
		r := &c.relations[i]
		for _, col := range columns {
			if col.Relation == r.Name {
				r.columns = append(r.columns, col)
			}
		}
		for _, d := range details {
			if d.Relation == r.Name {
				r.details = append(r.details, d)
			}
		}
		for _, p := range policies {
			if p.Relation == r.Name {
				r.policies = append(r.policies, p)
			}
		}
	}
	return c, nil
}

func rowsOf[T any](ctx context.Context, db *pgx.Conn, sql string) ([]T, error) {
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[T])
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	return found, nil
}
