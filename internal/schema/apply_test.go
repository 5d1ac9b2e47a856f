package schema

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/cluster"
	"github.com/paidonce/paidonce/internal/pgtest"
	"github.com/paidonce/paidonce/internal/schema/dump"
)

var kinds = map[string]cluster.Kind{"supabase": cluster.Supabase, "plain postgres": cluster.Plain}

func TestMigrationsGiveTheDeclaredSchema(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		t.Run("given "+name+" when all migrations are applied then it has the declared schema", func(t *testing.T) {
			t.Parallel()
			verify(t, kind, repository)
		})
	}

	t.Run("given the finished schema when every body is checked then none is wrong", func(t *testing.T) {
		t.Parallel()
		sections, err := Load(os.DirFS(repository))
		require.NoError(t, err)
		db := pgtest.NewEmpty(t, cluster.Supabase)
		db.Exec(t, SQL(sections))
		for _, s := range sections {
			_, err := db.Pool.Exec(t.Context(), s.Text)
			require.NoError(t, err, s.Path)
		}
	})
}

func TestSecondMigration(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		t.Run("given "+name+" when the second migration is applied then it has the declared schema", func(t *testing.T) {
			t.Parallel()
			verify(t, kind, second(t))
		})
	}

	t.Run("given rows when the second migration goes up and down then they stay", func(t *testing.T) {
		t.Parallel()
		migrations := read(t, second(t))
		db := pgtest.NewEmpty(t, cluster.Supabase)
		db.Exec(t, migrations[0].Up)
		db.Exec(t, "insert into paidonce.accounts values ('acct_1', 7)")
		db.Exec(t, migrations[1].Up)
		require.Equal(t, "7 bigint", pgtest.One[string](t, db, "select o || ' ' || pg_typeof(o) from paidonce.opened('acct_1') as o"))
		db.Exec(t, "update paidonce.accounts set note = 'kept'")
		require.Equal(t, "kept", pgtest.One[string](t, db, "select public.handle_stripe_event('{\"id\": \"acct_1\"}') ->> 'note'"))
		db.Exec(t, migrations[1].Down)
		require.Equal(t, "7 integer", pgtest.One[string](t, db, "select o || ' ' || pg_typeof(o) from paidonce.opened('acct_1') as o"))
		require.Equal(t, "1", pgtest.One[string](t, db, "select public.handle_stripe_event('{}') ->> 'version'"))
	})

	t.Run("given a change by hand that forgets a column when compared then the difference is named", func(t *testing.T) {
		t.Parallel()
		dir := second(t)
		write(t, dir, "sql/changes/000002_notes.up.sql",
			"-- rebuild: sql/views/10_open.sql\n-- rebuild: sql/views/20_count.sql\n"+
				"alter table paidonce.accounts alter column opened type bigint, add column if not exists note text;")
		build(t, dir, "")
		declared := apply(t, cluster.Supabase, SQL(load(t, dir)))
		migrated := apply(t, cluster.Supabase, ups(read(t, dir))...)
		require.Contains(t, dump.Diff(snap(t, declared), snap(t, migrated)), "differs: accounts; Type: TABLE")
	})
}

// verify applies what lies in dir in every way that has to lead to the same
// schema, and compares.
func verify(t *testing.T, kind cluster.Kind, dir string) {
	t.Helper()
	migrations := read(t, dir)
	declared := snap(t, apply(t, kind, SQL(load(t, dir))))

	db := pgtest.NewEmpty(t, kind)
	db.Exec(t, "create schema paidonce")
	at := []dump.Schema{snap(t, db)} // the schema after each migration
	for _, m := range migrations {
		db.Exec(t, m.Up)
		at = append(at, snap(t, db))
		db.Exec(t, m.Up)
		same(t, at[m.Number], snap(t, db), "%06d_%s up twice", m.Number, m.Name)
	}
	same(t, declared, at[len(migrations)], "migrations against sql/ and functions/")

	for i := len(migrations) - 1; i >= 0; i-- {
		m := migrations[i]
		db.Exec(t, m.Down)
		same(t, at[i], snap(t, db), "%06d_%s down", m.Number, m.Name)
		db.Exec(t, m.Down)
		same(t, at[i], snap(t, db), "%06d_%s down twice", m.Number, m.Name)
	}
	for _, m := range migrations {
		db.Exec(t, m.Up)
	}
	same(t, declared, snap(t, db), "down and up again")
}

// second is a copy of the fixture with two migrations, the first released.
func second(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/second/before")))
	build(t, dir, "")
	_, err := Release(dir)
	require.NoError(t, err)
	for _, part := range []string{"sql", "functions"} {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, part)))
	}
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/second/after")))
	build(t, dir, "notes")
	return dir
}

func apply(t *testing.T, kind cluster.Kind, scripts ...string) *pgtest.DB {
	t.Helper()
	db := pgtest.NewEmpty(t, kind)
	for _, script := range scripts {
		db.Exec(t, script)
	}
	return db
}

func snap(t *testing.T, db *pgtest.DB) dump.Schema {
	t.Helper()
	schema, err := dump.Of(t.Context(), db.URL(cluster.Superuser))
	require.NoError(t, err)
	return schema
}

func same(t *testing.T, want, got dump.Schema, what string, args ...any) {
	t.Helper()
	require.Empty(t, dump.Diff(want, got), append([]any{what}, args...)...)
}

func load(t *testing.T, dir string) []Section {
	t.Helper()
	sections, err := Load(os.DirFS(dir))
	require.NoError(t, err)
	return sections
}

func read(t *testing.T, dir string) []Migration {
	t.Helper()
	migrations, err := readMigrations(os.DirFS(dir))
	require.NoError(t, err)
	return migrations
}

func ups(migrations []Migration) []string {
	var scripts []string
	for _, m := range migrations {
		scripts = append(scripts, m.Up)
	}
	return scripts
}
