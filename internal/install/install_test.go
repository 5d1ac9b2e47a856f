package install_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/install"
)

var (
	now    = time.Date(2026, 3, 1, 12, 0, 58, 0, time.FixedZone("CET", 3600))
	source = fstest.MapFS{
		"000001_init.up.sql":      {Data: []byte("create schema paidonce;\n")},
		"000001_init.down.sql":    {Data: []byte("drop schema paidonce;\n")},
		"000002_credits.up.sql":   {Data: []byte("select 2;\n")},
		"000002_credits.down.sql": {Data: []byte("select -2;\n")},
	}
)

// project makes a Supabase project with the given migrations in it.
func project(t *testing.T, migrations ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "supabase")
	require.NoError(t, os.MkdirAll(filepath.Join(path, "migrations"), 0o755))
	for _, name := range migrations {
		require.NoError(t, os.WriteFile(filepath.Join(path, "migrations", name), []byte("-- "+name), 0o644))
	}
	return path
}

func names(t *testing.T, project string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(project, "migrations"))
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWrite(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct{ present, want []string }{
		"given an empty project when written then the timestamps are now, in UTC, one after the other": {
			nil, []string{"20260301110058_paidonce_init.sql", "20260301110059_paidonce_credits.sql"}},
		"given older migrations when written then paidonce's come after them": {
			[]string{"20240101000000_app.sql"},
			[]string{"20240101000000_app.sql", "20260301110058_paidonce_init.sql", "20260301110059_paidonce_credits.sql"}},
		"given a migration of the future when written then paidonce's come after it, over the minute's end": {
			[]string{"20260501115959_app.sql"},
			[]string{"20260501115959_app.sql", "20260501120000_paidonce_init.sql", "20260501120001_paidonce_credits.sql"}},
		"given a migration of this second when written then paidonce's come after it": {
			[]string{"20260301110058_app.sql"},
			[]string{"20260301110058_app.sql", "20260301110059_paidonce_init.sql", "20260301110100_paidonce_credits.sql"}},
		"given digits that are no time when written then they are counted on": {
			[]string{"20269999000000_app.sql"},
			[]string{"20269999000000_app.sql", "20269999000001_paidonce_init.sql", "20269999000002_paidonce_credits.sql"}},
		"given the first one from long ago when written then only the missing one is added": {
			[]string{"20250101000000_paidonce_init.sql", "20250601000000_app.sql"},
			[]string{"20250101000000_paidonce_init.sql", "20250601000000_app.sql", "20260301110058_paidonce_credits.sql"}},
		"given files that the CLI does not read when written then they do not count": {
			[]string{"99999999999999.txt", "README.md"},
			[]string{"20260301110058_paidonce_init.sql", "20260301110059_paidonce_credits.sql", "99999999999999.txt", "README.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := project(t, tc.present...)
			_, err := install.Write(path, source, now)
			require.NoError(t, err)
			require.Equal(t, tc.want, names(t, path))
		})
	}

	t.Run("given a second run when written then nothing is added or changed", func(t *testing.T) {
		t.Parallel()
		path := project(t)
		first, err := install.Write(path, source, now)
		require.NoError(t, err)
		require.Len(t, first.Files, 2)
		content, err := os.ReadFile(first.Files[0].Path)
		require.NoError(t, err)
		require.Equal(t, "create schema paidonce;\n", string(content))

		before := names(t, path)
		second, err := install.Write(path, source, now.Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, before, names(t, path))
		for i, f := range second.Files {
			require.Equal(t, install.File{Path: first.Files[i].Path}, f)
		}
	})

	t.Run("given an edited migration when written then it stays and is reported", func(t *testing.T) {
		t.Parallel()
		path := project(t, "20250101000000_paidonce_init.sql")
		report, err := install.Write(path, source, now)
		require.NoError(t, err)
		require.True(t, report.Files[0].Differs)
		require.False(t, report.Files[0].Written)
		content, err := os.ReadFile(report.Files[0].Path)
		require.NoError(t, err)
		require.Equal(t, "-- 20250101000000_paidonce_init.sql", string(content))
	})

	for name, present := range map[string]string{
		"given the last possible timestamp when written then it says which file to rename": "99999999999999_app.sql",
		"given a short number that sorts last when written then it says which file":        "3_app.sql",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := project(t, present)
			_, err := install.Write(path, source, now)
			require.ErrorIs(t, err, install.ErrNoRoom)
			require.ErrorContains(t, err, present)
			require.Equal(t, []string{present}, names(t, path))
		})
	}

	t.Run("given a project without a migrations folder when written then it is made", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "supabase")
		require.NoError(t, os.Mkdir(path, 0o755))
		_, err := install.Write(path, source, now)
		require.NoError(t, err)
		require.Len(t, names(t, path), 2)
	})
}

func TestFind(t *testing.T) {
	t.Parallel()

	t.Run("given a folder deep in a project when looked for then the project above is found", func(t *testing.T) {
		t.Parallel()
		path := project(t)
		deep := filepath.Join(filepath.Dir(path), "src", "app")
		require.NoError(t, os.MkdirAll(deep, 0o755))
		found, err := install.Find(deep)
		require.NoError(t, err)
		require.Equal(t, path, found)
	})

	t.Run("given a project with a config only when looked for then it is found", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(root, "supabase"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, "supabase", "config.toml"), nil, 0o644))
		found, err := install.Find(root)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(root, "supabase"), found)
	})

	t.Run("given an empty folder named supabase when looked for then it is no project", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(root, "supabase"), 0o755))
		_, err := install.Find(root)
		require.ErrorIs(t, err, install.ErrNoProject)
	})

	t.Run("given a folder that is not there when looked for then it says so", func(t *testing.T) {
		t.Parallel()
		_, err := install.Find(filepath.Join(t.TempDir(), "none"))
		require.ErrorIs(t, err, os.ErrNotExist)
	})
}
