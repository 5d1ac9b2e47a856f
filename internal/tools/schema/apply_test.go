package schema

import (
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/dump"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
	"github.com/paidonce/paidonce/migrations"
)

var kinds = map[string]cluster.Kind{"supabase": cluster.Supabase, "plain postgres": cluster.Plain}

func TestMigrationsGiveTheDeclaredSchema(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		t.Run("given "+name+" when all migrations are applied then it has the declared schema", func(t *testing.T) {
			t.Parallel()
			verify(t, kind)
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

// verify applies the migrations in every way that has to lead to the same
// schema, and compares.
func verify(t *testing.T, kind cluster.Kind) {
	t.Helper()
	sections, err := Load(os.DirFS(repository))
	require.NoError(t, err)
	db := pgtest.NewEmpty(t, kind)
	db.Exec(t, SQL(sections))
	declared := snap(t, db)

	ups, downs := glob(migrations.FS, "*.up.sql"), glob(migrations.FS, "*.down.sql")
	require.Len(t, downs, len(ups))
	db = pgtest.NewEmpty(t, kind)
	db.Exec(t, "create schema paidonce")
	at := []dump.Schema{snap(t, db)} // the schema after each migration
	for i, up := range ups {
		run(t, db, up)
		at = append(at, snap(t, db))
		run(t, db, up)
		same(t, at[i+1], snap(t, db), "%s twice", up)
	}
	same(t, declared, at[len(ups)], "migrations against sql/ and functions/")

	for i, down := range slices.Backward(downs) {
		run(t, db, down)
		same(t, at[i], snap(t, db), down)
		run(t, db, down)
		same(t, at[i], snap(t, db), "%s twice", down)
	}
	for _, up := range ups {
		run(t, db, up)
	}
	same(t, declared, snap(t, db), "down and up again")
}

// run applies a migration as those who apply it do, in one transaction.
func run(t *testing.T, db *pgtest.DB, name string) {
	t.Helper()
	sql, err := fs.ReadFile(migrations.FS, name)
	require.NoError(t, err)
	db.Exec(t, string(sql))
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
