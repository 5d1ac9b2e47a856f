package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// printJSON writes one indented value, for machines and for eyes.
func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// table aligns rows of cells.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer, indent string, head ...string) table {
	t := table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	head[0] = indent + head[0]
	t.row(head...)
	return t
}

func (t table) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = strings.Join(strings.FieldsFunc(cell, func(r rune) bool { return r < ' ' }), " ")
	}
	fmt.Fprintln(t.w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
}

func (t table) flush() error { return t.w.Flush() }

// text is a value that may be missing.
func text(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func moment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// shorten keeps a message on one line of a table.
func shorten(s string, limit int) string {
	if runes := []rune(s); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return s
}
