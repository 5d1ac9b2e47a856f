package schema

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Migration is one numbered step, as it lies in migrations/.
type Migration struct {
	Number   int
	Name     string
	Up, Down string
}

func (m Migration) upPath() string { return fmt.Sprintf("migrations/%06d_%s.up.sql", m.Number, m.Name) }
func (m Migration) downPath() string {
	return fmt.Sprintf("migrations/%06d_%s.down.sql", m.Number, m.Name)
}

// supabasePath is where the Supabase CLI reads the same file. Its versions are
// fourteen digits and compare as text; ours only have to be stable and in
// order, so they count seconds from a fixed day.
func (m Migration) supabasePath() string {
	return fmt.Sprintf("supabase/migrations/%014d_paidonce_%s.sql", 20260101000000+m.Number, m.Name)
}

// The first and last statement of every up file. A function may call one that
// is created after it, so bodies are not checked while they are being created;
// the checks of the tests and of plpgsql_check see the finished schema.
// Plain set and reset, because set local only warns outside a transaction.
const (
	bodiesOff = "set check_function_bodies = off;\n"
	bodiesOn  = "reset check_function_bodies;\n"
)

// Header lines of a migration. The text after a file header, up to the next
// header, is the text of that file.
const (
	fileMarker = "-- file: "
	goneMarker = "-- gone: " // the file no longer exists
	stepMarker = "-- step: " // written by the tool or by hand, belongs to no file
)

func firstMarker(text string) (string, bool) {
	for line := range strings.Lines(text) {
		for _, marker := range []string{fileMarker, goneMarker, stepMarker} {
			if strings.HasPrefix(line, marker) {
				return strings.TrimSpace(line), true
			}
		}
	}
	return "", false
}

var migrationName = regexp.MustCompile(`^migrations/([0-9]{6})_([a-z][a-z0-9_]*)\.(up|down)\.sql$`)

// readMigrations returns the migrations below root in order.
func readMigrations(root fs.FS) ([]Migration, error) {
	paths, err := fs.Glob(root, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var found []Migration
	for _, p := range paths {
		parts := migrationName.FindStringSubmatch(p)
		if parts == nil {
			return nil, fmt.Errorf("%s: not named 000001_name.up.sql or 000001_name.down.sql", p)
		}
		number, err := strconv.Atoi(parts[1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		raw, err := fs.ReadFile(root, p)
		if err != nil {
			return nil, err
		}
		if last := len(found) - 1; last < 0 || found[last].Number != number {
			found = append(found, Migration{Number: number, Name: parts[2]})
		}
		m := &found[len(found)-1]
		if m.Name != parts[2] {
			return nil, fmt.Errorf("%s: number %d has two names", p, number)
		}
		if parts[3] == "up" {
			m.Up = string(raw)
		} else {
			m.Down = string(raw)
		}
	}
	for i, m := range found {
		if m.Number != i+1 {
			return nil, fmt.Errorf("migration %06d is missing", i+1)
		}
		if m.Up == "" || m.Down == "" {
			return nil, fmt.Errorf("migration %06d_%s needs both an up and a down file", m.Number, m.Name)
		}
	}
	return found, nil
}

// declaredBy reads back the declared schema as it was after the migrations:
// for every file its latest section, in apply order.
func declaredBy(migrations []Migration) []Section {
	latest := map[string]string{}
	for _, m := range migrations {
		var current string
		for line := range strings.Lines(m.Up) {
			switch {
			case strings.HasPrefix(line, fileMarker):
				current = strings.TrimSpace(strings.TrimPrefix(line, fileMarker))
				latest[current] = ""
			case strings.HasPrefix(line, goneMarker):
				current = ""
				delete(latest, strings.TrimSpace(strings.TrimPrefix(line, goneMarker)))
			case strings.HasPrefix(line, stepMarker):
				current = ""
			case current != "":
				latest[current] += line
			}
		}
	}
	sections := make([]Section, 0, len(latest))
	for p, text := range latest {
		sections = append(sections, Section{Path: p, Text: tidy(text)})
	}
	slices.SortFunc(sections, func(a, b Section) int { return inApplyOrder(a.Path, b.Path) })
	return sections
}
