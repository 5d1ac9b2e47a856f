package schema

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReleasedMigrations(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) string {
		dir := onDisk(t, map[string]string{
			"sql/10_t.sql":     "create table if not exists t (a int);",
			"functions/f.sql":  "create or replace function f() returns int language sql as $$ select 1 $$;",
			"functions/g.sql":  "create or replace function g() returns int language sql as $$ select 1 $$;",
			"sql/views/10.sql": "create or replace view v as select 1 as a;",
		})
		build(t, dir, "")
		last, err := Release(dir)
		require.NoError(t, err)
		require.Equal(t, 1, last)
		return dir
	}

	t.Run("given a release when nothing changed then nothing is built", func(t *testing.T) {
		t.Parallel()
		dir := start(t)
		require.Empty(t, build(t, dir, ""))
		require.Empty(t, build(t, dir, "add_nothing"))
	})

	t.Run("given a release when a function changes then only a second migration is written", func(t *testing.T) {
		t.Parallel()
		dir := start(t)
		first := snapshot(t, dir)
		write(t, dir, "functions/f.sql", "create or replace function f() returns int language sql as $$ select 2 $$;")
		_, err := Make(os.DirFS(dir), "")
		require.ErrorContains(t, err, "make migrations NAME=add_things")
		_, err = Make(os.DirFS(dir), "../escape")
		require.ErrorContains(t, err, "lower case")
		require.Equal(t, []string{
			"migrations/000002_better_f.down.sql", "migrations/000002_better_f.up.sql",
			"supabase/migrations/20260101000002_paidonce_better_f.sql",
		}, build(t, dir, "better_f"))
		second := snapshot(t, dir)
		for file, text := range first {
			if file != "functions/f.sql" {
				require.Equal(t, text, second[file], file)
			}
		}
		require.Equal(t, []string{
			"set check_function_bodies = off",
			"create or replace function f() returns int language sql as $$ select 2 $$",
			"reset check_function_bodies",
		}, texts(t, second["migrations/000002_better_f.up.sql"]))
		require.Equal(t, []string{
			"set check_function_bodies = off",
			"create or replace function f() returns int language sql as $$ select 1 $$",
			"reset check_function_bodies",
		}, texts(t, second["migrations/000002_better_f.down.sql"]))
	})

	t.Run("given an open migration when it is built again then it follows its files and keeps its name", func(t *testing.T) {
		t.Parallel()
		dir := start(t)
		original := snapshot(t, dir)
		write(t, dir, "functions/f.sql", "create or replace function f() returns int language sql as $$ select 2 $$;")
		build(t, dir, "better_f")
		write(t, dir, "functions/f.sql", "create or replace function f() returns int language sql as $$ select 3 $$;")
		_, err := Make(os.DirFS(dir), "other")
		require.ErrorContains(t, err, `open under the name "better_f"`)
		build(t, dir, "")
		require.Contains(t, snapshot(t, dir)["migrations/000002_better_f.up.sql"], "select 3")
		write(t, dir, "functions/f.sql", original["functions/f.sql"])
		build(t, dir, "")
		require.Equal(t, original, snapshot(t, dir), "an open migration with nothing to do goes away")
	})

	t.Run("given a second release when a third migration is built then it starts from the second", func(t *testing.T) {
		t.Parallel()
		dir := start(t)
		write(t, dir, "functions/f.sql", "create or replace function f() returns int language sql as $$ select 2 $$;")
		build(t, dir, "two")
		_, err := Release(dir)
		require.NoError(t, err)
		require.NoError(t, os.Remove(filepath.Join(dir, "functions/g.sql")))
		build(t, dir, "three")
		files := snapshot(t, dir)
		require.Equal(t, []string{"drop function if exists g()"}, texts(t, files["migrations/000003_three.up.sql"]))
		require.Contains(t, files["migrations/000003_three.down.sql"], "create or replace function g()")
		_, err = Release(dir)
		require.NoError(t, err)
		require.Empty(t, build(t, dir, ""), "what is gone stays gone")
	})

	t.Run("given a changed table when there is no change by hand then it is demanded", func(t *testing.T) {
		t.Parallel()
		dir := start(t)
		write(t, dir, "sql/10_t.sql", "create table if not exists t (a int, b int);")
		_, err := Make(os.DirFS(dir), "add_b")
		require.ErrorContains(t, err, "write sql/changes/000002_add_b.up.sql")
		require.ErrorContains(t, err, "sql/changes/000002_add_b.down.sql")
		write(t, dir, "sql/changes/000002_add_b.up.sql", "alter table t add column if not exists b int;")
		_, err = Make(os.DirFS(dir), "add_b")
		require.ErrorContains(t, err, "tables hold data", "the way back is demanded too")
		write(t, dir, "sql/changes/000002_add_b.down.sql", "alter table t drop column if exists b;")
		build(t, dir, "add_b")
		require.Equal(t, []string{
			"alter table t add column if not exists b int",
			"set check_function_bodies = off", "create table if not exists t (a int, b int)", "reset check_function_bodies",
		}, texts(t, snapshot(t, dir)["migrations/000002_add_b.up.sql"]))
	})

	t.Run("given a table file that is gone when there is no change by hand then it is demanded", func(t *testing.T) {
		t.Parallel()
		dir := start(t)
		require.NoError(t, os.Remove(filepath.Join(dir, "sql/10_t.sql")))
		_, err := Make(os.DirFS(dir), "drop_t")
		require.ErrorContains(t, err, "tables hold data")
	})

	t.Run("given a function with another head when it is built then it is dropped before it is created", func(t *testing.T) {
		t.Parallel()
		dir := start(t)
		write(t, dir, "functions/f.sql", "create or replace function f() returns text language sql as $$ select '2' $$;")
		write(t, dir, "functions/g.sql", "create or replace function g(a int) returns int language sql as $$ select a $$;")
		build(t, dir, "heads")
		files := snapshot(t, dir)
		require.Equal(t, []string{"drop function if exists g()", "drop function if exists f()"}, texts(t, files["migrations/000002_heads.up.sql"])[:2])
		require.Equal(t, []string{"drop function if exists g(a int)", "drop function if exists f()"}, texts(t, files["migrations/000002_heads.down.sql"])[:2])
	})

	t.Run("given a rebuild line when it is built then the named file is dropped and laid down again both ways", func(t *testing.T) {
		t.Parallel()
		dir := start(t)
		write(t, dir, "sql/changes/000002_retype.up.sql", "-- rebuild: sql/views/10.sql\nselect 'up';")
		write(t, dir, "sql/changes/000002_retype.down.sql", "select 'down';")
		build(t, dir, "retype")
		files := snapshot(t, dir)
		for direction, by := range map[string]string{"up": "select 'up'", "down": "select 'down'"} {
			require.Equal(t, []string{
				"drop view if exists v", by, "set check_function_bodies = off", "create or replace view v as select 1 as a", "reset check_function_bodies",
			}, texts(t, files["migrations/000002_retype."+direction+".sql"]))
		}
		write(t, dir, "sql/changes/000002_retype.up.sql", "-- rebuild: sql/10_t.sql")
		_, err := Make(os.DirFS(dir), "")
		require.ErrorContains(t, err, "cannot rebuild sql/10_t.sql")
	})

	t.Run("given a released file that was touched when anything is built then it is refused", func(t *testing.T) {
		t.Parallel()
		for _, file := range []string{
			"migrations/000001_init.up.sql", "migrations/000001_init.down.sql", "supabase/migrations/20260101000001_paidonce_init.sql",
		} {
			dir := start(t)
			write(t, dir, file, snapshot(t, dir)[file]+"-- touched\n")
			_, err := Make(os.DirFS(dir), "")
			require.ErrorContains(t, err, file+" is released")
			require.ErrorContains(t, err, "put it back")
		}
	})

	t.Run("given a released file that is gone when anything is built then it is refused", func(t *testing.T) {
		t.Parallel()
		dir := start(t)
		for _, file := range []string{"migrations/000001_init.up.sql", "migrations/000001_init.down.sql"} {
			require.NoError(t, os.Remove(filepath.Join(dir, file)))
		}
		_, err := Make(os.DirFS(dir), "")
		require.ErrorContains(t, err, "migration 000001 is not there")
	})

	t.Run("given unbuilt changes when released then it is refused", func(t *testing.T) {
		t.Parallel()
		dir := start(t)
		write(t, dir, "functions/f.sql", "create or replace function f() returns int language sql as $$ select 2 $$;")
		build(t, dir, "two")
		write(t, dir, "functions/f.sql", "create or replace function f() returns int language sql as $$ select 3 $$;")
		_, err := Release(dir)
		require.ErrorContains(t, err, "run `make migrations` first")
	})
}
