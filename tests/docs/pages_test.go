// Package docs keeps the pages true: what can be run in them is run, and what they name is there.
//
// How to write a page so that it is checked:
//
//	```sql          runs through psql, block after block, in one database per page
//	```sql fails    likewise, and has to fail
//	```sh run       runs in bash, with paidonce on the PATH and DATABASE_URL set to that database
//	```text         straight after one of these: what it must print, to the letter (go test ./tests/docs -update writes it)
//	```go           stands, line by line, in go/webhook/example_test.go
//
// Every other block is only read for the commands in it.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

const repository = "../.."

func TestMain(m *testing.M) { pgtest.Main(m) }

// page is one Markdown file.
type page struct {
	path   string // relative to the repository
	prose  string // without what is fenced
	blocks []block
}

// block is a fenced part of a page.
type block struct {
	line     int
	language string // such as sql
	mark     string // what follows it, such as run
	text     string
	prints   string // the ```text right after it; empty if there is none
	printsAt int    // the line of that fence
}

// written are the pages that people write; generated ones are left out of what only they can get wrong.
func written(t *testing.T) []page {
	t.Helper()
	return slices.DeleteFunc(pages(t), func(p page) bool { return strings.HasPrefix(p.path, "docs/reference/") })
}

func pages(t *testing.T) []page {
	t.Helper()
	var found []page
	paths, err := fs.Glob(os.DirFS(repository), "*.md")
	require.NoError(t, err)
	require.NoError(t, fs.WalkDir(os.DirFS(repository), "docs", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".md" {
			paths = append(paths, path)
		}
		return err
	}))
	for _, path := range paths {
		raw, err := os.ReadFile(filepath.Join(repository, path))
		require.NoError(t, err)
		found = append(found, parse(path, string(raw)))
	}
	require.NotEmpty(t, found)
	return found
}

var comment = regexp.MustCompile(`(?s)<!--.*?-->`)

func parse(path, text string) page {
	p := page{path: path}
	var prose, inside strings.Builder
	var open *block
	last := -1 // the block that ended on the line before
	for i, line := range strings.Split(text, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimLeft(line, " "), "```")
		switch {
		case isFence && open == nil:
			language, mark, _ := strings.Cut(fence, " ")
			open = &block{line: i + 1, language: language, mark: mark}
			inside.Reset()
		case isFence:
			open.text = inside.String()
			if open.language == "text" && last >= 0 {
				p.blocks[last].prints, p.blocks[last].printsAt, last = open.text, open.line, -1
			} else {
				p.blocks, last = append(p.blocks, *open), len(p.blocks)
			}
			open = nil
		case open != nil:
			inside.WriteString(line + "\n")
		default:
			if strings.TrimSpace(line) != "" {
				last = -1
			}
			prose.WriteString(line)
			prose.WriteString("\n")
		}
	}
	p.prose = comment.ReplaceAllString(prose.String(), "")
	return p
}

var codeSpan = regexp.MustCompile("`([^`\n]+)`")

// spans are the pieces of code inside the sentences.
func (p page) spans() []string {
	var found []string
	for _, match := range codeSpan.FindAllStringSubmatch(p.prose, -1) {
		found = append(found, strings.ReplaceAll(match[1], `\|`, "|")) // escaped in tables
	}
	return found
}

// shell are the lines that a reader would type: spans, and the lines of shell blocks, with continued ones joined.
func (p page) shell() []string {
	lines := p.spans()
	for _, b := range p.blocks {
		if b.language == "sh" || b.language == "" {
			lines = append(lines, strings.Split(strings.ReplaceAll(b.text, "\\\n", " "), "\n")...)
		}
	}
	return lines
}
