package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindBinDir(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	install := func(name, version string) string {
		folder := filepath.Join(root, name, "bin")
		require.NoError(t, os.MkdirAll(folder, 0o755))
		for _, program := range []string{"initdb", "postgres"} {
			script := "#!/bin/sh\necho '" + program + " (PostgreSQL) " + version + "'\n"
			require.NoError(t, os.WriteFile(filepath.Join(folder, program), []byte(script), 0o755))
		}
		return folder
	}
	old := install("old/9", "9.6.24")
	fifteen := install("some/15", "15.18 (Debian 15.18-0)")
	beta := install("some/18", "18beta1")
	pattern := filepath.Join(root, "some", "*", "bin")

	t.Run("given several versions, when the newest is asked for, then numbers count and not letters", func(t *testing.T) {
		t.Parallel()
		found, err := newest("", filepath.Join(root, "old", "*", "bin"), pattern)
		require.NoError(t, err)
		require.Equal(t, beta, found)
	})
	t.Run("given one on the path, when the newest is asked for, then that one is taken", func(t *testing.T) {
		t.Parallel()
		found, err := newest(fifteen, pattern)
		require.NoError(t, err)
		require.Equal(t, fifteen, found)
	})
	t.Run("given one on the path that is too old, when the newest is asked for, then another is taken", func(t *testing.T) {
		t.Parallel()
		found, err := newest(old, pattern)
		require.NoError(t, err)
		require.Equal(t, beta, found)
	})
	t.Run("given none that is usable, when the newest is asked for, then the error says what to do", func(t *testing.T) {
		t.Parallel()
		_, err := newest(old, filepath.Join(root, "nowhere", "*"))
		require.ErrorIs(t, err, ErrNoPostgres)
		require.ErrorContains(t, err, "make postgres")
	})
}
