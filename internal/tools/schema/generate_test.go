package schema

import (
	"crypto/sha256"
	"fmt"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const repository = "../../.."

func TestCommittedFiles(t *testing.T) {
	t.Parallel()
	t.Run("given the repository when its migrations are built then they are the committed ones", func(t *testing.T) {
		t.Parallel()
		files, err := Generate(os.DirFS(repository))
		require.NoError(t, err)
		require.Empty(t, files.Stale(os.DirFS(repository)), "run `make migrations`")
	})
}

func TestGenerate(t *testing.T) {
	t.Parallel()
	const second = "create or replace function f() returns int language sql as $$ select 2 $$;\n"
	// dir is a repository with one function whose migration is built.
	dir := func(t *testing.T) string {
		dir := t.TempDir()
		put(t, dir, "functions/f.sql", "create or replace function f() returns int language sql as $$ select 1 $$;\n\n")
		require.Equal(t, []string{firstDown, firstUp, "supabase/migrations/20260101000001_paidonce_init.sql"}, build(t, dir))
		return dir
	}
	frozenUp := func(t *testing.T, dir string) {
		before := text(t, dir, firstUp)
		put(t, dir, "functions/f.sql", second)
		build(t, dir)
		require.Equal(t, before, text(t, dir, firstUp))
	}

	t.Run("given a changed function when built then the first migration and its copy have it", func(t *testing.T) {
		t.Parallel()
		dir := dir(t)
		require.Empty(t, build(t, dir), "nothing changed")
		put(t, dir, "functions/f.sql", second)
		require.Equal(t, []string{firstUp, "supabase/migrations/20260101000001_paidonce_init.sql"}, build(t, dir))
		require.Contains(t, text(t, dir, firstUp), "\n-- file: functions/f.sql\n"+second)
		require.Contains(t, text(t, dir, firstDown), "\ndrop function if exists f;\n")
	})

	t.Run("given a second migration when built then it is copied and the first stays", func(t *testing.T) {
		t.Parallel()
		dir := dir(t)
		put(t, dir, "migrations/000002_better_f.up.sql", second)
		require.Equal(t, []string{"supabase/migrations/20260101000002_paidonce_better_f.sql"}, build(t, dir))
		require.Equal(t, second, text(t, dir, "supabase/migrations/20260101000002_paidonce_better_f.sql"))
		frozenUp(t, dir)
	})

	t.Run("given the checksum of the first migration when built then it stays", func(t *testing.T) {
		t.Parallel()
		dir := dir(t)
		put(t, dir, frozen, fmt.Sprintf("%x  000001_init.up.sql\n", sha256.Sum256([]byte(text(t, dir, firstUp)))))
		frozenUp(t, dir)
		put(t, dir, firstUp, second)
		_, err := Generate(os.DirFS(dir))
		require.ErrorContains(t, err, "000001_init.up.sql is frozen")
	})

	t.Run("given a migration that is gone when built then so is its copy", func(t *testing.T) {
		t.Parallel()
		dir := dir(t)
		put(t, dir, "supabase/migrations/20260101000002_paidonce_old.sql", second)
		require.Equal(t, []string{"supabase/migrations/20260101000002_paidonce_old.sql"}, build(t, dir))
		require.NoFileExists(t, dir+"/supabase/migrations/20260101000002_paidonce_old.sql")
	})

	t.Run("given a wrong name when built then it is refused", func(t *testing.T) {
		t.Parallel()
		_, err := Generate(fstest.MapFS{"migrations/better.up.sql": {Data: []byte(second)}})
		require.ErrorContains(t, err, "migrations/better.up.sql: not named like")
	})
}

func build(t *testing.T, dir string) []string {
	t.Helper()
	files, err := Generate(os.DirFS(dir))
	require.NoError(t, err)
	touched, err := files.Write(dir)
	require.NoError(t, err)
	return touched
}

func put(t *testing.T, dir, path, content string) {
	t.Helper()
	_, err := Files{path: []byte(content)}.Write(dir)
	require.NoError(t, err)
}

func text(t *testing.T, dir, path string) string {
	t.Helper()
	raw, err := os.ReadFile(dir + "/" + path)
	require.NoError(t, err)
	return string(raw)
}
