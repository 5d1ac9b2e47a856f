package schema

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ReleasedPath is the file that says which migrations are out in the world.
// Its first line is the number of the last released one, 0 before the first
// release; each further line is the name and the SHA-256 of a released file.
const ReleasedPath = "migrations/RELEASED"

// Plan is what the generated files have to look like: the text of every file
// to be there, and the files to be removed.
type Plan struct {
	Files  map[string]string
	Remove []string
}

var validName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Make computes the generated files for the tree at root. Name is that of the
// open migration, the one after the last released; it may be empty where there
// is one already, where nothing has changed, and before the first release.
func Make(root fs.FS, name string) (Plan, error) {
	released, err := readReleased(root)
	if err != nil {
		return Plan{}, err
	}
	existing, err := readMigrations(root)
	if err != nil {
		return Plan{}, err
	}
	if err := released.check(root, existing); err != nil {
		return Plan{}, err
	}
	var frozen, open = existing[:released.number], existing[released.number:]
	if len(open) > 1 {
		return Plan{}, fmt.Errorf("migrations %06d and %06d are both unreleased: keep one, and delete the other's files", open[0].Number, open[1].Number)
	}
	m := Migration{Number: released.number + 1, Name: name}
	if released.number == 0 {
		if name != "" && name != "init" {
			return Plan{}, errors.New("before the first release there is one migration, 000001_init, and it is rebuilt freely: leave NAME out")
		}
		m.Name = "init"
	} else if len(open) == 1 {
		if name != "" && name != open[0].Name {
			return Plan{}, fmt.Errorf("migration %06d is open under the name %q: leave NAME out to rebuild it, or delete its files first", m.Number, open[0].Name)
		}
		m.Name = open[0].Name
	}

	next, err := Load(root)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Files: map[string]string{}}
	for _, f := range frozen {
		plan.Files[f.supabasePath()] = f.Up
	}
	m, needed, err := openMigration(root, m, declaredBy(frozen), next)
	if err != nil {
		return Plan{}, err
	}
	if needed {
		plan.Files[m.upPath()] = m.Up
		plan.Files[m.downPath()] = m.Down
		plan.Files[m.supabasePath()] = m.Up
	} else if len(open) == 1 {
		plan.Remove = append(plan.Remove, open[0].upPath(), open[0].downPath())
	}
	copies, err := fs.Glob(root, "supabase/migrations/*_paidonce_*.sql")
	if err != nil {
		return Plan{}, err
	}
	for _, p := range copies {
		if _, ok := plan.Files[p]; !ok {
			plan.Remove = append(plan.Remove, p)
		}
	}
	return plan, nil
}

// openMigration builds the migration that is not released yet, and says
// whether there is anything for it to do.
func openMigration(root fs.FS, m Migration, prev, next []Section) (Migration, bool, error) {
	c, err := readChange(root, m)
	if err != nil {
		return m, false, err
	}
	var differ, altered []string
	for _, s := range next {
		old, ok := find(prev, s.Path)
		if !ok || old.Text != s.Text {
			differ = append(differ, s.Path)
		}
		if ok && old.Text != s.Text && s.isTable() {
			altered = append(altered, s.Path)
		}
	}
	for _, s := range prev {
		if _, ok := find(next, s.Path); !ok {
			differ = append(differ, s.Path)
			if s.isTable() {
				altered = append(altered, s.Path)
			}
		}
	}
	if len(differ) == 0 && c.empty() {
		if m.Name != "" && m.Number > 1 {
			return m, false, nil
		}
		return m, m.Number == 1, nil
	}
	if !validName.MatchString(m.Name) {
		return m, false, fmt.Errorf("%s changed since migration %06d was released: name the next one, as in `make migrations NAME=add_things` (lower case, digits, underscores)", strings.Join(differ, ", "), m.Number-1)
	}
	if len(altered) > 0 && (c.up == "" || c.down == "") {
		return m, false, fmt.Errorf("%s changed, and tables hold data: write %s (alter table … add column if not exists …) and %s (the way back), then run this again", strings.Join(altered, ", "), c.upPath, c.downPath)
	}
	m, err = step(m, prev, next, c)
	return m, true, err
}

func readChange(root fs.FS, m Migration) (change, error) {
	stem := fmt.Sprintf("sql/changes/%06d_%s", m.Number, m.Name)
	c := change{upPath: stem + ".up.sql", downPath: stem + ".down.sql"}
	for p, text := range map[string]*string{c.upPath: &c.up, c.downPath: &c.down} {
		raw, err := fs.ReadFile(root, p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return c, err
		}
		*text = tidy(string(raw))
		if line, ok := firstMarker(*text); ok {
			return c, fmt.Errorf("%s: the line %q is a header of the migrations and cannot stand inside a file", p, line)
		}
	}
	for line := range strings.Lines(c.up) {
		if p, ok := strings.CutPrefix(line, rebuildMarker); ok {
			c.rebuild = append(c.rebuild, strings.TrimSpace(p))
		}
	}
	return c, nil
}

// released is the content of the file RELEASED.
type released struct {
	number int
	sums   map[string]string
}

func readReleased(root fs.FS) (released, error) {
	r := released{sums: map[string]string{}}
	raw, err := fs.ReadFile(root, ReleasedPath)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if r.number, err = strconv.Atoi(strings.TrimSpace(lines[0])); err != nil || r.number < 0 {
		return r, fmt.Errorf("%s: the first line is not the number of a migration", ReleasedPath)
	}
	for _, line := range lines[1:] {
		if file, sum, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			r.sums[file] = sum
		}
	}
	return r, nil
}

// check refuses to go on where a released file is not what was released:
// databases out there have run it and will never run it again.
func (r released) check(root fs.FS, migrations []Migration) error {
	if len(migrations) < r.number {
		return fmt.Errorf("%s says %d, but migration %06d is not there", ReleasedPath, r.number, len(migrations)+1)
	}
	frozen := sums(migrations[:r.number])
	for _, file := range slices.Sorted(maps.Keys(r.sums)) {
		if frozen[file] != r.sums[file] {
			return fmt.Errorf("%s is released and must not change: put it back as it was, and make the change in the next migration", file)
		}
	}
	for _, m := range migrations[:r.number] {
		copied, err := fs.ReadFile(root, m.supabasePath())
		if err == nil && string(copied) != m.Up {
			return fmt.Errorf("%s is released and differs from %s: put it back as it was", m.supabasePath(), m.upPath())
		}
	}
	return nil
}

func sums(migrations []Migration) map[string]string {
	s := map[string]string{}
	for _, m := range migrations {
		s[m.upPath()] = fmt.Sprintf("%x", sha256.Sum256([]byte(m.Up)))
		s[m.downPath()] = fmt.Sprintf("%x", sha256.Sum256([]byte(m.Down)))
	}
	return s
}
