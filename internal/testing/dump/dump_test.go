package dump

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestDump(t *testing.T) {
	t.Parallel()
	snap := func(t *testing.T, db *pgtest.DB) Schema {
		t.Helper()
		schema, err := Of(t.Context(), db.URL(cluster.Superuser))
		require.NoError(t, err)
		return schema
	}
	of := func(t *testing.T, sql string) Schema {
		t.Helper()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		db.Exec(t, sql)
		return snap(t, db)
	}

	t.Run("given the same schema made in another order when compared then nothing differs", func(t *testing.T) {
		t.Parallel()
		one := of(t, "create schema s; create table s.t (a int); create table s.a (a int); create table s.b (b int); grant select on s.t to anon; grant insert on s.t to authenticated")
		two := of(t, "create schema s; create table s.t (a int); create table s.b (b int); create table s.a (a int); grant insert on s.t to authenticated; grant select on s.t to anon")
		require.Empty(t, Diff(one, two))
	})

	t.Run("given a schema when one thing after another changes then each is seen both ways", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		db.Exec(t, "create schema s; create table s.t (a int); create function s.f() returns int language sql as $$ select 1 $$")
		db.Exec(t, "grant create on schema s to service_role; grant service_role to postgres")
		before := snap(t, db)
		for _, change := range []string{
			"alter table s.t add column b int",
			"comment on column s.t.a is 'other'",
			"grant select on s.t to anon",
			"revoke all on function s.f() from public",
			"create policy p on s.t using (true)",
			"alter table s.t enable row level security",
			"create index on s.t (a)",
			"alter table s.t alter column a set default 1",
			"create or replace function s.f() returns int language sql as $$ select 2 $$",
			"alter function s.f() set search_path = ''",
			"alter function s.f() owner to service_role",
		} {
			db.Exec(t, change)
			after := snap(t, db)
			require.NotEmpty(t, Diff(before, after), change)
			require.NotEmpty(t, Diff(after, before), change)
			before = after
		}
	})

	t.Run("given the tools' own tables when dumped then they are left out", func(t *testing.T) {
		t.Parallel()
		bare := of(t, "create schema paidonce")
		used := of(t, "create schema paidonce; create table paidonce.schema_migrations (a int); create schema supabase_migrations; create table supabase_migrations.x (a int)")
		require.Empty(t, Diff(bare, used))
	})
}
