package schema

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// repository is the root of the working tree, seen from this package.
const repository = "../.."

func TestRepositoryIsBuilt(t *testing.T) {
	t.Parallel()
	root := os.DirFS(repository)
	plan, err := Make(root, "")
	require.NoError(t, err)

	t.Run("given the declared schema when it is built then the files in migrations are that", func(t *testing.T) {
		t.Parallel()
		stale, err := plan.Stale(root)
		require.NoError(t, err)
		require.Empty(t, stale, "run make migrations")
	})

	t.Run("given the migrations when the supabase copies are compared then they are the same bytes", func(t *testing.T) {
		t.Parallel()
		ups, err := fs.Glob(root, "migrations/*.up.sql")
		require.NoError(t, err)
		copies, err := fs.Glob(root, "supabase/migrations/*")
		require.NoError(t, err)
		require.NotEmpty(t, ups)
		require.Len(t, copies, len(ups))
		for i := range ups {
			require.Regexp(t, `^supabase/migrations/[0-9]{14}_paidonce_[a-z0-9_]+\.sql$`, copies[i])
			up, err := fs.ReadFile(root, ups[i])
			require.NoError(t, err)
			copied, err := fs.ReadFile(root, copies[i])
			require.NoError(t, err)
			require.Equal(t, string(up), string(copied), "%s and %s", ups[i], copies[i])
		}
	})

	t.Run("given a migration when it is read then it leaves transactions to whoever applies it", func(t *testing.T) {
		t.Parallel()
		migrations, err := readMigrations(root)
		require.NoError(t, err)
		for _, m := range migrations {
			for _, text := range []string{m.Up, m.Down} {
				statements, err := scan(text)
				require.NoError(t, err)
				for _, s := range statements {
					first := s.tokens[0].text
					require.NotContains(t, []string{"begin", "start", "commit", "end", "rollback", "savepoint", "vacuum"}, first, firstLine(s.text))
					require.NotContains(t, strings.ToLower(firstLine(s.text)), "concurrently")
				}
			}
		}
	})
}

func TestApplyOrder(t *testing.T) {
	t.Parallel()
	t.Run("given files of every kind when loaded then tables, functions, the entry point and views follow each other", func(t *testing.T) {
		t.Parallel()
		sections, err := Load(tree(map[string]string{
			"sql/views/10_v.sql":                "",
			"functions/read/a.sql":              "",
			"functions/handle_stripe_event.sql": "",
			"functions/order/z.sql":             "",
			"functions/i.sql":                   "",
			"sql/20_b.sql":                      "",
			"sql/10_a.sql":                      "",
			"sql/changes/000001_init.down.sql":  "",
			"functions/README.md":               "",
		}))
		require.NoError(t, err)
		var paths []string
		for _, s := range sections {
			paths = append(paths, s.Path)
		}
		require.Equal(t, []string{
			"sql/10_a.sql", "sql/20_b.sql",
			"functions/i.sql", "functions/order/z.sql", "functions/read/a.sql", "functions/handle_stripe_event.sql",
			"sql/views/10_v.sql",
		}, paths)
	})

	t.Run("given a file that holds a header line when loaded then it is refused", func(t *testing.T) {
		t.Parallel()
		_, err := Load(tree(map[string]string{"sql/1.sql": "select 1;\n-- file: sql/2.sql\n"}))
		require.ErrorContains(t, err, "sql/1.sql")
	})
}

func TestFirstMigration(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"sql/10_t.sql":                     "create table if not exists t (a int);\ncreate index if not exists t_a on t (a);",
		"functions/f.sql":                  "create or replace function f(a int default 1) returns int language sql as $$ select a $$;",
		"sql/views/v.sql":                  "create or replace view v as select f(a) from t;\n\n",
		"sql/changes/000001_init.down.sql": "select 'by hand';",
	}

	t.Run("given a schema when it is built then up creates it in order and down takes it back in reverse", func(t *testing.T) {
		t.Parallel()
		plan, err := Make(tree(files), "")
		require.NoError(t, err)
		up := plan.Files["migrations/000001_init.up.sql"]
		require.Equal(t, up, plan.Files["supabase/migrations/20260101000001_paidonce_init.sql"])
		require.Equal(t, []string{
			"set check_function_bodies = off",
			"create table if not exists t (a int)", "create index if not exists t_a on t (a)",
			"create or replace function f(a int default 1) returns int language sql as $$ select a $$",
			"create or replace view v as select f(a) from t",
			"reset check_function_bodies",
		}, texts(t, up))
		require.Equal(t, []string{
			"drop view if exists v", "drop function if exists f(a int)", "select 'by hand'", "drop table if exists t",
		}, texts(t, plan.Files["migrations/000001_init.down.sql"]))
	})

	t.Run("given nothing released when a file changes then the first migration is rebuilt", func(t *testing.T) {
		t.Parallel()
		dir := onDisk(t, files)
		build(t, dir, "")
		write(t, dir, "sql/10_t.sql", "create table if not exists t (a int, b int);")
		require.Equal(t, []string{
			"migrations/000001_init.up.sql", "supabase/migrations/20260101000001_paidonce_init.sql",
		}, build(t, dir, ""))
		require.Empty(t, build(t, dir, ""), "a second run has nothing to do")
	})

	t.Run("given nothing released when a second migration is named then it is refused", func(t *testing.T) {
		t.Parallel()
		_, err := Make(tree(files), "more")
		require.ErrorContains(t, err, "leave NAME out")
	})
}
