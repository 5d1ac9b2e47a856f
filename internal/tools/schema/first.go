package schema

import (
	_ "embed" // for the last statements of the way down
	"regexp"
	"slices"
	"strings"
)

// Where the first migration lies, and what its files begin with.
const (
	firstUp   = "migrations/000001_init.up.sql"
	firstDown = "migrations/000001_init.down.sql"
	builtBy   = "Built by `make migrations`: edit sql/ and functions/ instead.\n"
)

// up is the declared schema with a line above each file that names it.
func up(sections []Section) string {
	var b strings.Builder
	b.WriteString("-- Migration 000001_init, up. " + builtBy)
	b.WriteString("\n-- step: bodies are checked when all functions are there\n" + bodiesOff)
	for _, s := range sections {
		b.WriteString("\n-- file: " + s.Path + "\n" + s.Text)
	}
	b.WriteString("\n-- step: end\n" + bodiesOn)
	return b.String()
}

//go:embed grants.down.sql
var grantsDown string

// created finds the statements that make something which a table does not take
// along when it is dropped: its kind, its name and, of a trigger, its table.
var created = regexp.MustCompile(`(?m)^create (?:or replace )?(?:(table|view|function|procedure) (?:if not exists )?([\w.]+)|(trigger) (\w+)[^;]*? on ([\w.]+))`)

// down drops what the files make, last things first. Functions are named without
// their arguments, so Postgres refuses this where two share a name.
func down(sections []Section) string {
	var drops []string
	for _, s := range sections {
		for _, found := range created.FindAllStringSubmatch(s.Text, -1) {
			if found[3] != "" {
				drops = append(drops, "drop trigger if exists "+found[4]+" on "+found[5]+";\n")
			} else {
				drops = append(drops, "drop "+found[1]+" if exists "+found[2]+";\n")
			}
		}
	}
	slices.Reverse(drops)
	return "-- Migration 000001_init, down. " + builtBy + "\n" + strings.Join(drops, "") + "\n" + grantsDown
}
