package apply_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gomigrate "github.com/golang-migrate/migrate/v4"
	_ "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/migrate"
	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/dump"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
	"github.com/paidonce/paidonce/migrations"
)

func TestWaysToApply(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]cluster.Kind{"supabase": cluster.Supabase, "plain postgres": cluster.Plain} {
		t.Run("given "+name+" when applied by psql and by paidonce, each twice and in turn, then the schema is one", func(t *testing.T) {
			t.Parallel()
			one := pgtest.NewEmpty(t, kind)
			byPsql(t, one)
			want := schema(t, one)
			byPsql(t, one)
			require.Empty(t, dump.Diff(want, schema(t, one)), "psql twice")
			byMigrate(t, one)
			require.Empty(t, dump.Diff(want, schema(t, one)), "psql, then paidonce")

			two := pgtest.NewEmpty(t, kind)
			byMigrate(t, two)
			require.Empty(t, dump.Diff(want, schema(t, two)), "paidonce")
			byMigrate(t, two)
			byPsql(t, two)
			require.Empty(t, dump.Diff(want, schema(t, two)), "paidonce, then psql")
		})
	}

	t.Run("given golang-migrate as others use it when paidonce follows then it finds its work done", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		db.Exec(t, "create schema paidonce") // the one thing golang-migrate does not do
		require.NoError(t, golangMigrate(t, db, nil))
		require.Empty(t, dump.Diff(schema(t, pgtest.New(t)), schema(t, db)))
		require.Empty(t, byMigrate(t, db).Applied)
	})

	t.Run("given golang-migrate told to split statements when it migrates then it fails and paidonce repairs", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		db.Exec(t, "create schema paidonce")
		require.ErrorContains(t, golangMigrate(t, db, url.Values{"x-multi-statement": {"true"}}), "unterminated dollar-quoted string")
		require.True(t, byMigrate(t, db).Healed)
		require.Empty(t, dump.Diff(schema(t, pgtest.New(t)), schema(t, db)))
	})

	t.Run("given golang-migrate's options when paidonce migrates then it refuses them and touches nothing", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		_, err := migrate.Up(t.Context(), db.URL("postgres")+"&x-multi-statement=true", nil)
		require.ErrorContains(t, err, "x-multi-statement")
		require.Empty(t, pgtest.One[string](t, db, "select coalesce(to_regnamespace('paidonce')::text, '')"))
	})

	t.Run("given a file that fails at its end when psql applies it then nothing is left and the right one succeeds", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		before := schema(t, db)
		files, err := filepath.Glob(filepath.Join(repository, "migrations/*.up.sql"))
		require.NoError(t, err)
		text, err := os.ReadFile(files[0])
		require.NoError(t, err)
		broken := filepath.Join(t.TempDir(), "broken.sql")
		require.NoError(t, os.WriteFile(broken, append(text, "select 1 / 0;\n"...), 0o644))
		out, err := psql(t, db, broken)
		require.Error(t, err)
		require.Contains(t, out, "division by zero")
		require.Empty(t, dump.Diff(before, schema(t, db)))
		byPsql(t, db)
	})
}

// golangMigrate applies the files the way golang-migrate's own command does.
func golangMigrate(t *testing.T, db *pgtest.DB, options url.Values) error {
	t.Helper()
	files, err := iofs.New(migrations.FS, ".")
	require.NoError(t, err)
	if options == nil {
		options = url.Values{}
	}
	options.Set("x-migrations-table", `"paidonce"."schema_migrations"`)
	options.Set("x-migrations-table-quoted", "1")
	databaseURL := strings.Replace(db.URL("postgres"), "postgres://", "pgx5://", 1) + "&" + options.Encode()
	m, err := gomigrate.NewWithSourceInstance("iofs", files, databaseURL)
	require.NoError(t, err)
	failed := m.Up()
	_, err = m.Close()
	require.NoError(t, err)
	return failed
}
