package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	t.Parallel()
	repository := func(t *testing.T) (dir, function string) {
		t.Helper()
		dir = t.TempDir()
		function = filepath.Join(dir, "functions", "f.sql")
		require.NoError(t, os.MkdirAll(filepath.Dir(function), 0o755))
		require.NoError(t, os.WriteFile(function, []byte("create or replace function f() returns int language sql as $$ select 1 $$;"), 0o644))
		require.NoError(t, run([]string{"-dir", dir}))
		return dir, function
	}

	t.Run("given a changed file when only checked then it is reported and nothing is written", func(t *testing.T) {
		t.Parallel()
		dir, function := repository(t)
		require.NoError(t, run([]string{"-dir", dir, "-check"}))
		before, err := os.ReadFile(filepath.Join(dir, "migrations/000001_init.up.sql"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(function, []byte("create or replace function f() returns int language sql as $$ select 2 $$;"), 0o644))
		require.ErrorContains(t, run([]string{"-dir", dir, "-check"}), "out of date, run `make migrations`: migrations/000001_init.up.sql")
		after, err := os.ReadFile(filepath.Join(dir, "migrations/000001_init.up.sql"))
		require.NoError(t, err)
		require.Equal(t, string(before), string(after))
	})

	t.Run("given a release when a file changes then a name is asked for and a second migration is written", func(t *testing.T) {
		t.Parallel()
		dir, function := repository(t)
		require.NoError(t, run([]string{"-dir", dir, "-release"}))
		require.NoError(t, os.WriteFile(function, []byte("create or replace function f() returns int language sql as $$ select 2 $$;"), 0o644))
		require.ErrorContains(t, run([]string{"-dir", dir}), "NAME=add_things")
		require.NoError(t, run([]string{"-dir", dir, "-name", "better"}))
		require.FileExists(t, filepath.Join(dir, "migrations/000002_better.up.sql"))
		require.NoError(t, run([]string{"-dir", dir, "-check"}))
	})
}
