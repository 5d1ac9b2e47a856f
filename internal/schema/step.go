package schema

import (
	"fmt"
	"slices"
	"strings"
)

// change is the hand-written part of a migration: what happens to tables that
// already hold data. Either text may be empty.
type change struct {
	upPath, downPath string
	up, down         string
	rebuild          []string // files named by "-- rebuild: " lines in up
}

const rebuildMarker = "-- rebuild: "

func (c change) empty() bool { return c.up == "" && c.down == "" }

// step computes the migration that leads from one declared schema to the next,
// and back. The order is the same both ways: take away what is in the way,
// change the tables, then lay down every file that differs.
func step(m Migration, prev, next []Section, c change) (Migration, error) {
	before, err := allObjects(prev)
	if err != nil {
		return m, err
	}
	after, err := allObjects(next)
	if err != nil {
		return m, err
	}
	rebuilt := map[string]bool{}
	for _, p := range c.rebuild {
		s, ok := find(next, p)
		if !ok || s.isTable() {
			return m, fmt.Errorf("%s: cannot rebuild %s: only files under functions/ and sql/views/ can be", c.upPath, p)
		}
		rebuilt[p] = true
	}

	up := newScript(fmt.Sprintf("Migration %06d_%s, up. ", m.Number, m.Name))
	up.step("drop what is replaced or gone", upDrops(before, after, prev, rebuilt))
	up.step("change "+c.upPath, c.up)
	for _, s := range next {
		if old, ok := find(prev, s.Path); !ok || old.Text != s.Text || rebuilt[s.Path] {
			up.file(s)
		}
	}
	for _, s := range prev {
		if _, ok := find(next, s.Path); !ok {
			up.line("\n" + goneMarker + s.Path)
		}
	}
	m.Up = up.done()

	down := newScript(fmt.Sprintf("Migration %06d_%s, down. ", m.Number, m.Name))
	code, tables := downDrops(before, after, prev, next, rebuilt)
	down.step("drop functions, views, policies", code)
	down.step("change "+c.downPath, c.down)
	down.step("drop tables", tables)
	for _, s := range prev {
		if now, ok := find(next, s.Path); !ok || now.Text != s.Text || rebuilt[s.Path] {
			down.file(s)
		}
	}
	m.Down = down.done()
	return m, nil
}

// upDrops drops what is gone, and what its own statement could not change:
// functions with another result, policies, indexes. Things that hold data are never dropped here: that
// is for the hand-written part to say.
func upDrops(before, after []object, prev []Section, rebuilt map[string]bool) string {
	inRebuilt := madeBy(prev, func(s Section) bool { return rebuilt[s.Path] })
	var b strings.Builder
	for _, o := range slices.Backward(before) {
		now, stays := lookup(after, o.key())
		if !o.holdsData() && (!stays || now.head != o.head || inRebuilt[o.key()]) && !onDropped(o, before, after) {
			b.WriteString(o.drop())
		}
	}
	return b.String()
}

// downDrops drops what the migration made: first functions, views and whatever
// hangs on a table, then, to run after the hand-written part, the tables and what
// they are made with. Changed views are dropped as well, since create or replace
// cannot take a column away again.
func downDrops(before, after []object, prev, next []Section, rebuilt map[string]bool) (code, tables string) {
	inTables := madeBy(next, Section.isTable)
	recreated := madeBy(next, func(s Section) bool {
		old, ok := find(prev, s.Path)
		return rebuilt[s.Path] || ok && old.Text != s.Text && strings.HasPrefix(s.Path, "sql/views/")
	})
	var c, t strings.Builder
	for _, o := range slices.Backward(after) {
		was, existed := lookup(before, o.key())
		if existed && was.head == o.head && !recreated[o.key()] || onDropped(o, after, before) {
			continue
		}
		if inTables[o.key()] && !o.hangsOnTable() {
			t.WriteString(o.drop())
		} else {
			c.WriteString(o.drop())
		}
	}
	return c.String(), t.String()
}

// onDropped says that the object is an index whose table goes with it.
func onDropped(o object, here, there []object) bool {
	if o.kind != "index" {
		return false
	}
	table := object{kind: "table", name: o.on}.key()
	_, ishere := lookup(here, table)
	_, stays := lookup(there, table)
	return ishere && !stays
}

func madeBy(sections []Section, which func(Section) bool) map[string]bool {
	keys := map[string]bool{}
	for _, s := range sections {
		if which(s) {
			found, _ := objects(s) // every section was parsed before
			for _, o := range found {
				keys[o.key()] = true
			}
		}
	}
	return keys
}

func find(sections []Section, path string) (Section, bool) {
	i := slices.IndexFunc(sections, func(s Section) bool { return s.Path == path })
	if i < 0 {
		return Section{}, false
	}
	return sections[i], true
}

func lookup(objects []object, key string) (object, bool) {
	i := slices.IndexFunc(objects, func(o object) bool { return o.key() == key })
	if i < 0 {
		return object{}, false
	}
	return objects[i], true
}

// script writes one migration file.
type script struct {
	strings.Builder
	checked bool
}

func newScript(title string) *script {
	s := &script{}
	s.line("-- " + title + "Built by `make migrations`: edit sql/ and functions/ instead.")
	return s
}

func (s *script) line(text string) { s.WriteString(text + "\n") }

func (s *script) step(what, text string) {
	if text != "" {
		s.line("\n" + stepMarker + what)
		s.WriteString(text)
	}
}

func (s *script) file(section Section) {
	if !s.checked {
		s.checked = true
		s.step("bodies are checked when all functions are there", bodiesOff)
	}
	s.line("\n" + fileMarker + section.Path)
	s.WriteString(section.Text)
}

func (s *script) done() string {
	if s.checked {
		s.step("end", bodiesOn)
	}
	return s.String()
}
