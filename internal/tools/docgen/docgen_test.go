package docgen_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
	"github.com/paidonce/paidonce/internal/tools/docgen"
)

const repository = "../../.."

func TestMain(m *testing.M) { pgtest.Main(m) }

// reference makes the pages from a migrated database that sql may have changed.
func reference(t *testing.T, sql string) (docgen.Pages, error) {
	t.Helper()
	db := pgtest.New(t)
	if sql != "" {
		db.Exec(t, sql)
	}
	conn, err := pgx.Connect(t.Context(), db.URL("postgres"))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	return docgen.Reference(t.Context(), conn, os.DirFS(repository))
}

func TestReference(t *testing.T) {
	t.Parallel()

	t.Run("given the migrated database when its pages are made then they are the committed ones", func(t *testing.T) {
		t.Parallel()
		pages, err := reference(t, "")
		require.NoError(t, err)
		stale, err := pages.Stale(repository)
		require.NoError(t, err)
		require.Empty(t, stale, "run `make docs`")
	})

	t.Run("given a comment, a grant, a policy and a column changed in the database when its pages are made then each shows", func(t *testing.T) {
		t.Parallel()
		pages, err := reference(t, `
			comment on table paidonce.outbox is 'other words';
			grant select on paidonce.events to anon;
			create policy "one more" on paidonce.products for select to anon using (true);
			alter table paidonce.customers add column note text;
			comment on column paidonce.customers.note is 'a note';
			grant execute on function paidonce.link(text, text, text) to authenticated`)
		require.NoError(t, err)
		stale, err := pages.Stale(repository)
		require.NoError(t, err)
		require.Equal(t, []string{
			"docs/reference/README.md", "docs/reference/functions/link.md", "docs/reference/tables/customers.md",
			"docs/reference/tables/events.md", "docs/reference/tables/outbox.md", "docs/reference/tables/products.md",
		}, stale)
	})

	t.Run("given the functions when pages are made then those that a role or the owner may call have one, and no others", func(t *testing.T) {
		t.Parallel()
		pages, err := reference(t, "")
		require.NoError(t, err)
		for _, name := range []string{"handle_stripe_event", "has_access", "claim_outbox", "on", "enqueue", "replay"} {
			require.Contains(t, pages, "docs/reference/functions/"+name+".md")
		}
		for _, name := range []string{"read_time", "newest", "project_invoice", "only_grant", "notify_outbox"} {
			require.NotContains(t, pages, "docs/reference/functions/"+name+".md")
		}
	})

	for name, tc := range map[string]struct{ sql, err string }{
		"a column without a comment":       {"alter table paidonce.events add column note text", "paidonce.events.note has no comment"},
		"a table that no file declares":    {"create table paidonce.stray (); comment on table paidonce.stray is 'x'", "no file below sql/ or functions/"},
		"a function that no file declares": {"create function paidonce.stray() returns void language sql begin atomic; end; grant execute on function paidonce.stray() to service_role", "no file below sql/ or functions/"},
		"an overload of a function":        {"create function paidonce.replay() returns void language sql begin atomic; end; comment on function paidonce.replay() is 'x. Owner only.'", "several lists of arguments"},
	} {
		t.Run("given "+name+" when pages are made then it is named", func(t *testing.T) {
			t.Parallel()
			_, err := reference(t, tc.sql)
			require.ErrorContains(t, err, tc.err)
		})
	}
}

func TestCLI(t *testing.T) {
	t.Parallel()
	program, err := docgen.BuildProgram(t.Context(), repository, t.TempDir())
	require.NoError(t, err)
	raw, err := os.ReadFile(filepath.Join(repository, docgen.CLIPage))
	require.NoError(t, err)
	page := string(raw)

	t.Run("given the page of commands when it is made again then it is the committed one", func(t *testing.T) {
		t.Parallel()
		made, err := docgen.CLI(t.Context(), program, page)
		require.NoError(t, err)
		require.Equal(t, page, made, "run `make docs`")
	})

	for name, tc := range map[string]struct{ old, new, err string }{
		"a command without a place": {"<!-- help: send -->", "<!-- help: -->", "twice"},
		"a place without a command": {"<!-- help: send -->", "<!-- help: pay -->", `"pay"`},
		"a place that is gone":      {"<!-- help: send -->", "", `no place for the help of "send"`},
	} {
		t.Run("given "+name+" when the page is made then it is named", func(t *testing.T) {
			t.Parallel()
			_, err := docgen.CLI(t.Context(), program, strings.Replace(page, tc.old, tc.new, 1))
			require.ErrorContains(t, err, tc.err)
		})
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()

	t.Run("given a page that is old, one that is missing and one that nothing makes when written then only what is made is there", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		gone, old := filepath.Join(dir, "docs", "reference", "tables", "gone.md"), filepath.Join(dir, "docs", "reference", "README.md")
		require.NoError(t, os.MkdirAll(filepath.Dir(gone), 0o755))
		require.NoError(t, os.WriteFile(gone, []byte("gone"), 0o644))
		require.NoError(t, os.WriteFile(old, []byte("old"), 0o644))
		pages := docgen.Pages{"docs/reference/README.md": "new", "docs/reference/views/a.md": "a"}

		touched, err := pages.Write(dir)
		require.NoError(t, err)
		require.Equal(t, []string{"docs/reference/README.md", "docs/reference/tables/gone.md", "docs/reference/views/a.md"}, touched)
		require.NoFileExists(t, gone)
		content, err := os.ReadFile(old)
		require.NoError(t, err)
		require.Equal(t, "new", string(content))

		touched, err = pages.Write(dir)
		require.NoError(t, err)
		require.Empty(t, touched)
	})
}
