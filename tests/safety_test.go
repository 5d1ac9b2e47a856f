// Package tests has the tests that concern the whole repository. Those in
// Go that need more than one database are here and in the folders below; the
// specification of the schema itself is in pgtap.
package tests

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/migrate"
	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
	"github.com/paidonce/paidonce/migrations"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// hostile lists default privileges that open everything new to everyone, more
// than a Supabase project does for its schema public.
var hostile = map[string][]string{
	"for the schema": {
		`create schema paidonce`,
		`alter default privileges in schema paidonce grant all on tables to public, anon, authenticated, paidonce_edge`,
		`alter default privileges in schema paidonce grant all on sequences to public, anon, authenticated, paidonce_edge`,
		`alter default privileges in schema paidonce grant all on functions to public, anon, authenticated, paidonce_edge`,
	},
	"everywhere": {
		`alter default privileges grant all on tables to public, anon, authenticated, paidonce_worker`,
		`alter default privileges grant all on sequences to public, anon, authenticated, paidonce_worker`,
		`alter default privileges grant all on functions to public, anon, authenticated, paidonce_worker`,
		`alter default privileges grant all on schemas to public, anon, authenticated, paidonce_edge`,
	},
}

func TestHostileDefaultPrivileges(t *testing.T) {
	t.Parallel()
	// The first installation makes the kit's roles, which the privileges below name.
	usual := install(t)
	rights := rightsIn(t, usual)
	require.NotEmpty(t, rights)

	for name, statements := range hostile {
		t.Run(fmt.Sprintf("given default privileges that open everything %s, when the kit is installed, then it has the same rights as ever", name), func(t *testing.T) {
			t.Parallel()
			db := install(t, statements...)
			require.Equal(t, rights, rightsIn(t, db))
			for _, role := range []string{"anon", "authenticated"} {
				require.Equal(t, tried(t, usual, role), tried(t, db, role))
			}
		})

		t.Run(fmt.Sprintf("given default privileges that open everything %s, when functions are dropped and made again by their migration, then they have the same rights as ever", name), func(t *testing.T) {
			t.Parallel()
			db := install(t, statements...)
			for _, function := range pgtest.One[[]string](t, db, `
				select array_agg(format('%s %s', case prokind when 'p' then 'procedure' else 'function' end, oid::regprocedure))
				from pg_proc where proname in ('handle_stripe_event', 'link', 'on')`) {
				db.Exec(t, "drop "+function)
			}
			require.NotEqual(t, rights, rightsIn(t, db))
			migrateAgain(t, db)
			require.Equal(t, rights, rightsIn(t, db))
		})
	}
}

func TestAPIRoles(t *testing.T) {
	t.Parallel()
	db := install(t)

	for _, role := range []string{"anon", "authenticated"} {
		t.Run(fmt.Sprintf("given the API acting as %s, when every object in the catalog is written to, then permission is denied", role), func(t *testing.T) {
			t.Parallel()
			outcomes := tried(t, db, role)
			require.Greater(t, len(outcomes), 200)
			for statement, outcome := range outcomes {
				if strings.HasPrefix(statement, "select * from ") || strings.HasPrefix(statement, "select paidonce.has_access(") {
					continue // who reads what is for the tests below and for pgtap
				}
				require.Equal(t, "42501", outcome, statement)
			}
		})
	}

	t.Run("given the API acting as anon, when every table is read, then it is denied or has nothing but what is for sale", func(t *testing.T) {
		t.Parallel()
		for statement, outcome := range tried(t, db, "anon") {
			if outcome != "42501" {
				require.Contains(t, []string{"select * from paidonce.products", "select * from paidonce.prices"}, statement)
			}
		}
	})

	t.Run("given two users, when each reads every table that can be read, then the other's rows are not there", func(t *testing.T) {
		t.Parallel()
		db := install(t)
		for _, user := range []string{"u1", "u2"} {
			db.Exec(t, `select public.handle_stripe_event(jsonb_build_object('id', 'evt_' || $1, 'type', 'checkout.session.completed', 'data', jsonb_build_object(
				'object', jsonb_build_object('id', 'cs_' || $1, 'object', 'checkout.session', 'customer', 'cus_' || $1, 'client_reference_id', $1::text))))`, user)
			db.Exec(t, `select public.handle_stripe_event(jsonb_build_object('id', 'evt_s_' || $1, 'type', 'customer.subscription.created', 'data', jsonb_build_object(
				'object', jsonb_build_object('id', 'sub_' || $1, 'object', 'subscription', 'customer', 'cus_' || $1::text, 'status', 'active',
					'items', jsonb_build_object('data', jsonb_build_array(jsonb_build_object('id', 'si_' || $1, 'price', jsonb_build_object('id', 'price_' || $1, 'lookup_key', 'feature_' || $1))))))))`, user)
		}
		other := map[string]string{"u1": "u2", "u2": "u1"}
		for user := range other {
			seen := ""
			asRole(t, db, "authenticated", user, func(tx pgx.Tx) {
				for _, statement := range statementsIn(t, db) {
					if strings.HasPrefix(statement, "select * from ") {
						rows, _ := readAll(t, tx, statement)
						seen += rows
					}
				}
			})
			for _, what := range []string{"cus_", "sub_", "si_", "feature_"} {
				require.Contains(t, seen, what+user)
			}
			require.NotContains(t, seen, "_"+other[user])
		}
	})

	t.Run("given a forged event, when the API acting as either role hands it in, then it is denied and nothing is written", func(t *testing.T) {
		t.Parallel()
		for _, role := range []string{"anon", "authenticated"} {
			asRole(t, db, role, "u1", func(tx pgx.Tx) {
				_, state := readAll(t, tx, `select public.handle_stripe_event('{"id": "evt_forged", "type": "invoice.paid", "data": {"object": {}}}')`)
				require.Equal(t, "42501", state)
			})
		}
		require.Zero(t, pgtest.One[int](t, db, "select count(*) from paidonce.events where event_id = 'evt_forged'"))
	})
}

// install makes a Supabase-like database, runs statements in it as the owner,
// and installs the kit as `paidonce migrate` does.
func install(t *testing.T, statements ...string) *pgtest.DB {
	t.Helper()
	db := pgtest.NewEmpty(t, cluster.Supabase)
	for _, statement := range statements {
		db.Exec(t, statement)
	}
	_, err := migrate.Up(context.WithoutCancel(t.Context()), db.URL("postgres"), nil)
	require.NoError(t, err)
	return db
}

func migrateAgain(t *testing.T, db *pgtest.DB) {
	t.Helper()
	files, err := fs.Glob(migrations.FS, "*.up.sql")
	require.NoError(t, err)
	for _, file := range files {
		sql, err := fs.ReadFile(migrations.FS, file)
		require.NoError(t, err)
		db.Exec(t, string(sql))
	}
}

// rightsIn returns every right that anyone but the owner has on anything of
// the kit, each as a line.
func rightsIn(t *testing.T, db *pgtest.DB) []string {
	t.Helper()
	return pgtest.One[[]string](t, db, `
		with objects (name, owner, acl) as (
			select 'schema ' || nspname, nspowner, coalesce(nspacl, acldefault('n', nspowner))
			from pg_namespace where nspname = 'paidonce'
			union all
			select c.oid::regclass::text, c.relowner, coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))
			from pg_class c where c.relnamespace = 'paidonce'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
			union all
			select c.oid::regclass || '.' || a.attname, c.relowner, a.attacl
			from pg_class c join pg_attribute a on a.attrelid = c.oid
			where c.relnamespace = 'paidonce'::regnamespace and a.attacl is not null
			union all
			select p.oid::regprocedure::text, p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
			from pg_proc p where p.pronamespace = 'paidonce'::regnamespace or p.oid = to_regprocedure('public.handle_stripe_event(jsonb)')
		)
		select array_agg(line order by line)
		from (
			select format('%s: %s to %s', o.name, a.privilege_type, case a.grantee when 0 then 'public' else a.grantee::regrole::text end) as line
			from objects o cross join lateral aclexplode(o.acl) a
			where a.grantee <> o.owner
		) l`)
}

// statementsIn returns a statement for everything that can be done to every
// object of the kit, as the catalog has them.
func statementsIn(t *testing.T, db *pgtest.DB) []string {
	t.Helper()
	return pgtest.One[[]string](t, db, `
		with relations as (
			select c.oid, c.oid::regclass::text as name, c.relkind as kind, (
				select quote_ident(a.attname) from pg_attribute a
				where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attidentity <> 'a' order by a.attnum limit 1) as attribute
			from pg_class c where c.relnamespace = 'paidonce'::regnamespace
		)
		select array_agg(statement order by statement)
		from (
			select 'select * from ' || name from relations where kind in ('r', 'v')
			union all
			select unnest(array[
				format('insert into %s default values', name), format('update %s set %s = %2$s', name, attribute),
				format('delete from %s', name), format('truncate %s cascade', name), format('drop table %s cascade', name),
				format('alter table %s disable row level security', name), format('create trigger t before insert on %s execute function suppress_redundant_updates_trigger()', name)
			]) from relations where kind = 'r'
			union all
			select unnest(array[format('select nextval(%L)', name), format('select setval(%L, 1)', name)]) from relations where kind = 'S'
			union all
			select format(case p.prokind when 'p' then 'call %s(%s)' else 'select %s(%s)' end, format('%I.%I', n.nspname, p.proname), (
				select string_agg(case when p.provariadic <> 0 and a.nr = p.pronargs then 'variadic ' else '' end || 'null::' || a.type::regtype, ', ' order by a.nr)
				from unnest(p.proargtypes::oid[]) with ordinality a (type, nr)))
			from pg_proc p join pg_namespace n on n.oid = p.pronamespace
			where n.nspname = 'paidonce' or p.proname = 'handle_stripe_event'
		) s (statement)`)
}

// tried returns what each statement comes to for a role: a SQLSTATE, or "ok".
func tried(t *testing.T, db *pgtest.DB, role string) map[string]string {
	t.Helper()
	outcomes := map[string]string{}
	asRole(t, db, role, "u1", func(tx pgx.Tx) {
		for _, statement := range statementsIn(t, db) {
			_, outcomes[statement] = readAll(t, tx, statement)
		}
	})
	return outcomes
}

// asRole does as the API does for a request: it logs in as authenticator, and
// takes the role and the claims on for one transaction, which is rolled back.
func asRole(t *testing.T, db *pgtest.DB, role, user string, do func(pgx.Tx)) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.URL("authenticator"))
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "select set_config('role', $1, true), set_config('request.jwt.claims', $2, true)",
		role, fmt.Sprintf(`{"sub": %q, "role": %q}`, user, role))
	require.NoError(t, err)
	do(tx)
	require.NoError(t, tx.Rollback(t.Context()))
}

// readAll runs a statement in a savepoint and returns its rows as text, and
// its SQLSTATE or "ok".
func readAll(t *testing.T, tx pgx.Tx, statement string) (rows, state string) {
	t.Helper()
	nested, err := tx.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, nested.Rollback(t.Context())) }()
	results, err := nested.Query(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
	if err == nil {
		for results.Next() {
			for _, value := range results.RawValues() {
				rows += string(value) + " "
			}
		}
		err = results.Err()
	}
	var failure *pgconn.PgError
	if errors.As(err, &failure) {
		return rows, failure.Code
	}
	require.NoError(t, err, statement)
	return rows, "ok"
}
