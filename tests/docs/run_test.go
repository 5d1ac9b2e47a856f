package docs_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
	"github.com/paidonce/paidonce/internal/tools/docgen"
)

// login is the role that the pages create. It belongs to the cluster and not to a page's database.
const login = "stripe_handler"

var update = flag.Bool("update", false, "write what the blocks print into the pages")

var where = regexp.MustCompile(`(?m)^psql:<stdin>:\d+: `)

// TestPages runs one page after the other, since they share the cluster's roles.
func TestPages(t *testing.T) {
	bin := t.TempDir()
	_, err := docgen.BuildProgram(t.Context(), repository, bin)
	require.NoError(t, err)

	ran := 0
	for _, p := range written(t) {
		if !slices.ContainsFunc(p.blocks, block.runs) {
			continue
		}
		t.Run("given "+p.path+" when what is in it is run then it works and prints what it says", func(t *testing.T) {
			db := pgtest.New(t)
			db.Exec(t, "drop role if exists "+login)
			t.Cleanup(func() { drop(t, db) })
			for _, b := range slices.Backward(p.printed(t, db, bin)) { // from the end, so that line numbers stay right
				if b.prints != "" && *update {
					b.write(t, p.path)
				}
				ran++
			}
		})
	}
	require.Positive(t, ran)
}

func drop(t *testing.T, db *pgtest.DB) {
	t.Helper()
	_, err := db.Pool.Exec(context.WithoutCancel(t.Context()), "drop role if exists "+login)
	require.NoError(t, err)
}

func (b block) runs() bool { return b.language == "sql" || (b.language == "sh" && b.mark == "run") }

// printed runs the page's blocks in order, and returns them with what they printed.
func (p page) printed(t *testing.T, db *pgtest.DB, bin string) []block {
	t.Helper()
	var ran []block
	for _, b := range p.blocks {
		if !b.runs() {
			continue
		}
		printed := b.run(t, db, bin)
		if b.prints != "" {
			if !*update {
				require.Equal(t, plain(b.prints), plain(printed), "the block of line %d", b.line)
			}
			b.prints = printed
		}
		ran = append(ran, b)
	}
	return ran
}

// write puts what the block printed into its page.
func (b block) write(t *testing.T, path string) {
	t.Helper()
	path = filepath.Join(repository, path)
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(string(raw), "\n")
	end := b.printsAt + slices.Index(lines[b.printsAt:], "```")
	lines = slices.Concat(lines[:b.printsAt], strings.Split(plain(b.prints), "\n"), lines[end:])
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644))
}

func (b block) run(t *testing.T, db *pgtest.DB, bin string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), pgtest.Tool(t, "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=terse", "-P", "pager=off", db.URL("postgres"))
	cmd.Dir = repository // so that a page can read a file in with \i
	if b.language == "sh" {
		cmd = exec.CommandContext(t.Context(), "bash", "-euo", "pipefail")
		cmd.Dir = t.TempDir()
		cmd.Env = []string{
			"PATH=" + bin + string(os.PathListSeparator) + filepath.Dir(pgtest.Tool(t, "psql")) + string(os.PathListSeparator) + os.Getenv("PATH"),
			"DATABASE_URL=" + db.URL("postgres"),
		}
	}
	cmd.Stdin = strings.NewReader(b.text)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	printed := where.ReplaceAllString(out.String(), "")
	at := fmt.Sprintf("the block of line %d printed:\n%s", b.line, printed)
	if b.mark == "fails" {
		require.Error(t, err, at)
	} else {
		require.NoError(t, err, at)
	}
	return printed
}

// plain leaves out what nobody sees: blanks at the ends of lines, empty lines at the end.
func plain(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}
