// Package schema builds the migrations people apply from the declared schema,
// the files people read and edit under sql/ and functions/.
//
// The declared schema is a list of sections, one per file, in apply order:
// sql/*.sql, then functions/**/*.sql, then sql/views/*.sql. The first migration
// is these files one after the other, until it is frozen; later ones are
// written by hand, and the tests compare what they lead to with these files.
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
		sections = append(sections, Section{Path: p, Text: tidy(string(raw))})
	}
	return sections, nil
}

// The first and last statement of every up file. A function may call one that
// is created after it, so bodies are not checked while they are being created;
// the checks of the tests and of plpgsql_check see the finished schema.
// Plain set and reset, because set local only warns outside a transaction.
const (
	bodiesOff = "set check_function_bodies = off;\n"
	bodiesOn  = "reset check_function_bodies;\n"
)

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
// editor's last newline never changes a migration.
func tidy(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.TrimRight(text, " \t\n") + "\n"
}
