// Package dump compares database schemas through pg_dump: owners, comments,
// policies and privileges included, the order of things left out.
package dump

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/paidonce/paidonce/internal/testing/cluster"
)

// Schema is a normalised dump: what pg_dump says of each thing, by its title.
type Schema map[string]string

// Of dumps the schema of a database. Left out are the tables in which
// golang-migrate and the Supabase CLI remember what they did.
func Of(ctx context.Context, databaseURL string) (Schema, error) {
	program, err := Program("pg_dump")
	if err != nil {
		return nil, fmt.Errorf("dump: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, "--schema-only",
		"--exclude-table=paidonce.schema_migrations", "--exclude-schema=supabase_migrations", "--dbname="+databaseURL)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("dump: %w: %s", err, strings.TrimSpace(complaint.String()))
	}
	return parse(string(out)), nil
}

// Program finds a client program of the same version as the server's, which is
// where initdb lies, also when that is a link.
func Program(name string) (string, error) {
	bin, err := cluster.FindBinDir()
	if err != nil {
		return "", err
	}
	if initdb, err := filepath.EvalSymlinks(filepath.Join(bin, "initdb")); err == nil {
		if program, err := exec.LookPath(filepath.Join(filepath.Dir(initdb), name)); err == nil {
			return program, nil
		}
	}
	return exec.LookPath(name)
}

var title = regexp.MustCompile(`^-- Name: (.*); Type: (.*); Schema: (.*); Owner: ?(.*)$`)

// parse splits pg_dump's text into its entries.
func parse(text string) Schema {
	schema := Schema{}
	var name string
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case title.MatchString(line):
			name = strings.TrimPrefix(line, "-- Name: ")
		case line == "--" || line == "":
		case strings.HasPrefix(line, "-- PostgreSQL database dump complete"):
			name = ""
		case strings.HasPrefix(line, "SET default_"):
			// Set before the first table, wherever that comes.
		case name != "":
			schema[name] += line + "\n"
		}
	}
	for name, body := range schema {
		if strings.Contains(name, "; Type: ACL; ") || strings.Contains(name, "; Type: DEFAULT ACL; ") {
			// The order of grants is history, not meaning.
			grants := strings.Split(strings.TrimSpace(body), "\n")
			slices.Sort(grants)
			schema[name] = strings.Join(grants, "\n") + "\n"
		}
	}
	return schema
}

// Diff says what differs, "" when nothing does. The first schema is the one
// wanted, the second the one there is.
func Diff(want, got Schema) string {
	var b strings.Builder
	names := map[string]bool{}
	for name := range want {
		names[name] = true
	}
	for name := range got {
		names[name] = true
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		wanted, isWanted := want[name]
		there, isThere := got[name]
		switch {
		case !isThere:
			fmt.Fprintf(&b, "missing: %s\n", name)
		case !isWanted:
			fmt.Fprintf(&b, "left over: %s\n%s", name, there)
		case wanted != there:
			fmt.Fprintf(&b, "differs: %s\nwant:\n%sgot:\n%s", name, wanted, there)
		}
	}
	return b.String()
}
