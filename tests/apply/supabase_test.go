package apply_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/dump"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

const cliVersion = "2.117.0"

func TestSupabaseCLI(t *testing.T) {
	t.Parallel()
	_, err := supabase(t, t.TempDir(), "--version") // skips everything where the command cannot be had
	require.NoError(t, err)

	t.Run("given a project when pushed twice then it has the schema that the other ways give", func(t *testing.T) {
		t.Parallel()
		db, project := pgtest.NewEmpty(t, cluster.Supabase), newProject(t)
		push(t, project, db)
		want := schema(t, pgtest.New(t))
		require.Empty(t, dump.Diff(want, schema(t, db)))
		out := push(t, project, db)
		require.Contains(t, out, "up to date")
		require.Empty(t, dump.Diff(want, schema(t, db)))
		require.Equal(t, "20260101000001 paidonce_init", pgtest.One[string](t, db,
			"select version || ' ' || name from supabase_migrations.schema_migrations order by version limit 1"))
	})

	t.Run("given a pushed project when paidonce migrates then it takes over what is there", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		push(t, newProject(t), db)
		want := schema(t, db)
		report := byMigrate(t, db)
		require.True(t, report.Adopted)
		require.Empty(t, report.Applied)
		require.Empty(t, dump.Diff(want, schema(t, db)))
	})

	t.Run("given a migrated database when a project is pushed then it stays as it is", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		byMigrate(t, db)
		want := schema(t, db)
		push(t, newProject(t), db)
		require.Empty(t, dump.Diff(want, schema(t, db)))
	})

	t.Run("given a file that fails at its end when pushed then nothing is left and the right one succeeds", func(t *testing.T) {
		t.Parallel()
		db, project := pgtest.NewEmpty(t, cluster.Supabase), newProject(t)
		before := schema(t, db)
		file := filepath.Join(project, "supabase/migrations/20260101000001_paidonce_init.sql")
		right, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, append(bytes.Clone(right), "select 1 / 0;\n"...), 0o644))
		out, err := supabase(t, project, "db", "push", "--yes", "--db-url", db.URL("postgres"))
		require.Error(t, err)
		require.Contains(t, out, "division by zero")
		require.Empty(t, dump.Diff(before, schema(t, db)))
		require.NoError(t, os.WriteFile(file, right, 0o644))
		push(t, project, db)
		require.Empty(t, dump.Diff(schema(t, pgtest.New(t)), schema(t, db)))
	})

	t.Run("given the schema when linted then nothing is found", func(t *testing.T) {
		t.Parallel()
		db, project := pgtest.NewEmpty(t, cluster.Supabase), newProject(t)
		_, err := db.Superuser(t).Exec(t.Context(), "create extension plpgsql_check schema extensions")
		if err != nil {
			t.Skip("the extension plpgsql_check is not installed: run `make tools`")
		}
		push(t, project, db)
		out, err := supabase(t, project, "db", "lint", "--level", "warning", "--fail-on", "warning", "--db-url", db.URL("postgres"))
		require.NoError(t, err, out)
		require.Contains(t, out, "Linting schema: paidonce")
		require.Contains(t, out, "No schema errors found")
	})

	for name, exposed := range map[string]string{
		"the schemas of a new project exposed": "public, graphql_public",
		"schema paidonce exposed as well":      "public, graphql_public, paidonce",
	} {
		t.Run("given "+name+" when the advisors look then they find nothing to warn of", func(t *testing.T) {
			t.Parallel()
			db, project := pgtest.NewEmpty(t, cluster.Supabase), newProject(t)
			_, err := db.Superuser(t).Exec(t.Context(), `alter database "`+db.Name+`" set pgrst.db_schemas = '`+exposed+`'`)
			require.NoError(t, err)
			push(t, project, db)
			byMigrate(t, db) // its table is looked at too
			out, err := supabase(t, project, "db", "advisors", "--level", "warn", "--fail-on", "warn", "--db-url", db.URL("postgres"))
			require.NoError(t, err, out)
			require.Contains(t, out, "No issues found")
		})
	}
}

// newProject is a Supabase project with the configuration and the migrations of this repository.
func newProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "supabase"), os.DirFS(filepath.Join(repository, "supabase"))))
	return dir
}

func push(t *testing.T, project string, db *pgtest.DB) string {
	t.Helper()
	out, err := supabase(t, project, "db", "push", "--yes", "--db-url", db.URL("postgres"))
	require.NoError(t, err, out)
	return out
}

// supabase runs the real command, at home in a folder that goes with the test.
func supabase(t *testing.T, project string, args ...string) (string, error) {
	t.Helper()
	program, err := installed()
	if err != nil {
		t.Skipf("the Supabase CLI %s cannot be installed here, its checks are left out: %v", cliVersion, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = project
	// The command unpacks a library into the temporary folder and leaves it there.
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "TMPDIR="+t.TempDir(), "DO_NOT_TRACK=1", "SUPABASE_TELEMETRY_DISABLED=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// installed fetches the command once per machine, into the user's cache.
var installed = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	home := filepath.Join(cache, "paidonce-supabase-"+cliVersion)
	program := filepath.Join(home, "node_modules", ".bin", "supabase")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	// Aside first: another run may be installing, and this one may be cut off.
	aside, err := os.MkdirTemp(cache, "paidonce-supabase-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(aside) }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--no-fund", "--no-audit", "--no-save", "--fetch-retries=1", "--prefix", aside, "supabase@"+cliVersion)
	cmd.Dir = aside
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New("npm install: " + complaint(out))
	}
	if err := os.Rename(aside, home); err != nil {
		if _, there := os.Stat(program); there != nil {
			return "", err
		}
	}
	return program, nil
})

// complaint is npm's first word on what went wrong; its last is where its log is.
func complaint(out []byte) string {
	for line := range bytes.Lines(out) {
		if bytes.HasPrefix(line, []byte("npm ")) {
			return string(bytes.TrimSpace(line))
		}
	}
	return string(bytes.TrimSpace(out))
}
