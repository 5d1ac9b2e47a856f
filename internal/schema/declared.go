// Package schema turns the declared schema (the files people read and edit
// under sql/ and functions/) into the migrations people apply.
//
// The declared schema is a list of sections, one per file, in apply order:
// sql/*.sql, then functions/**/*.sql, then sql/views/*.sql. A migration holds
// whole sections, each under a header line that names its file, so that the
// latest text of every file can be read back from the migrations alone. That
// is what the second and every later migration is computed from.
//
// It is a build tool: nothing in the product imports it.
package schema

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// entryPoint is built last of all functions: it is the file people look for,
// and it is easiest to find at the end.
const entryPoint = "functions/handle_stripe_event.sql"

// Section is one file of the declared schema.
type Section struct {
	Path string // slash-separated, relative to the repository
	Text string // ends with exactly one newline
}

// isTable tells a file of tables from one of functions or views. Functions and
// views can be replaced as a whole; tables hold data and have to be altered.
func (s Section) isTable() bool { return path.Dir(s.Path) == "sql" }

// Load reads the declared schema below root, in apply order.
func Load(root fs.FS) ([]Section, error) {
	paths, err := declaredPaths(root)
	if err != nil {
		return nil, fmt.Errorf("declared schema: %w", err)
	}
	sections := make([]Section, 0, len(paths))
	for _, p := range paths {
		raw, err := fs.ReadFile(root, p)
		if err != nil {
			return nil, fmt.Errorf("declared schema: %w", err)
		}
		text := tidy(string(raw))
		if line, ok := firstMarker(text); ok {
			return nil, fmt.Errorf("declared schema: %s: the line %q is a header of the migrations and cannot stand inside a file", p, line)
		}
		sections = append(sections, Section{Path: p, Text: text})
	}
	return sections, nil
}

// SQL is the declared schema as one script, as it would be applied by hand.
func SQL(sections []Section) string {
	var b strings.Builder
	b.WriteString(bodiesOff)
	for _, s := range sections {
		b.WriteString(s.Text)
	}
	b.WriteString(bodiesOn)
	return b.String()
}

func declaredPaths(root fs.FS) ([]string, error) {
	var paths []string
	for _, pattern := range []string{"sql/*.sql", "sql/views/*.sql"} {
		found, err := fs.Glob(root, pattern)
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	if _, err := fs.Stat(root, "functions"); err == nil {
		err := fs.WalkDir(root, "functions", func(p string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && path.Ext(p) == ".sql" {
				paths = append(paths, p)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(paths, inApplyOrder)
	return paths, nil
}

// inApplyOrder sorts paths: tables, functions, the entry point, views.
func inApplyOrder(a, b string) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

func rank(p string) int {
	switch {
	case p == entryPoint:
		return 2
	case strings.HasPrefix(p, "functions/"):
		return 1
	case strings.HasPrefix(p, "sql/views/"):
		return 3
	default:
		return 0
	}
}

// tidy makes the text of a file independent of how it ends, so that an
// editor's last newline never makes a new migration.
func tidy(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.TrimRight(text, " \t\n") + "\n"
}
