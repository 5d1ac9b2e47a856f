package schema

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func tree(files map[string]string) fs.FS {
	root := fstest.MapFS{}
	for path, text := range files {
		root[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

func onDisk(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		write(t, dir, path, text)
	}
	return dir
}

func write(t *testing.T, dir, path, text string) {
	t.Helper()
	file := filepath.Join(dir, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

// build does what make migrations does and returns the files it touched.
func build(t *testing.T, dir, name string) []string {
	t.Helper()
	plan, err := Make(os.DirFS(dir), name)
	require.NoError(t, err)
	touched, err := plan.Write(dir)
	require.NoError(t, err)
	return touched
}

func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(text)
		return err
	}))
	return maps.Clone(files)
}

func texts(t *testing.T, sql string) []string {
	t.Helper()
	statements, err := scan(sql)
	require.NoError(t, err)
	var found []string
	for _, s := range statements {
		found = append(found, s.text)
	}
	return found
}
