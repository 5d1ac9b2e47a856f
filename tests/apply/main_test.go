// Package apply_test applies the migrations in every way that is promised, and
// lets the Supabase CLI judge the result.
package apply_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/migrate"
	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/dump"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

const repository = "../.."

func TestMain(m *testing.M) { pgtest.Main(m) }

func schema(t *testing.T, db *pgtest.DB) dump.Schema {
	t.Helper()
	s, err := dump.Of(t.Context(), db.URL(cluster.Superuser))
	require.NoError(t, err)
	return s
}

// byPsql applies the files with psql, each in one transaction, as postgres.
func byPsql(t *testing.T, db *pgtest.DB) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository, "migrations/*.up.sql"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		out, err := psql(t, db, file)
		require.NoError(t, err, out)
		require.Empty(t, out, "nothing to worry about is printed")
	}
}

func psql(t *testing.T, db *pgtest.DB, file string) (string, error) {
	t.Helper()
	program, err := dump.Program("psql")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-f", file, db.URL("postgres"))
	cmd.Env = append(os.Environ(), "PGOPTIONS=-c client_min_messages=warning")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func byMigrate(t *testing.T, db *pgtest.DB) migrate.Report {
	t.Helper()
	report, err := migrate.Up(context.WithoutCancel(t.Context()), db.URL("postgres"), nil)
	require.NoError(t, err)
	return report
}
