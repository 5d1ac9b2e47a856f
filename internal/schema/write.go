package schema

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stale lists the generated files below root that differ from the plan.
func (p Plan) Stale(root fs.FS) ([]string, error) {
	stale := slices.Clone(p.Remove)
	for file, want := range p.Files {
		got, err := fs.ReadFile(root, file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != nil || string(got) != want {
			stale = append(stale, file)
		}
	}
	slices.Sort(stale)
	return stale, nil
}

// Write brings the generated files below dir in line with the plan and returns
// the files it touched.
func (p Plan) Write(dir string) ([]string, error) {
	stale, err := p.Stale(os.DirFS(dir))
	if err != nil {
		return nil, err
	}
	for _, file := range stale {
		target := filepath.Join(dir, filepath.FromSlash(file))
		want, ok := p.Files[file]
		if !ok {
			err = os.Remove(target)
		} else if err = os.MkdirAll(filepath.Dir(target), 0o755); err == nil {
			err = os.WriteFile(target, []byte(want), 0o644)
		}
		if err != nil {
			return nil, fmt.Errorf("write migrations: %w", err)
		}
	}
	return stale, nil
}

// Release freezes every migration below dir: from now on they are never built
// again, and the next change becomes a new one.
func Release(dir string) (int, error) {
	root := os.DirFS(dir)
	plan, err := Make(root, "")
	if err != nil {
		return 0, err
	}
	stale, err := plan.Stale(root)
	if err != nil {
		return 0, err
	}
	if len(stale) > 0 {
		return 0, fmt.Errorf("run `make migrations` first: %s would change", strings.Join(stale, ", "))
	}
	migrations, err := readMigrations(root)
	if err != nil {
		return 0, err
	}
	var b strings.Builder
	fmt.Fprintln(&b, len(migrations))
	frozen := sums(migrations)
	for _, file := range slices.Sorted(maps.Keys(frozen)) {
		fmt.Fprintln(&b, file, frozen[file])
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(ReleasedPath)), []byte(b.String()), 0o644); err != nil {
		return 0, fmt.Errorf("release migrations: %w", err)
	}
	return len(migrations), nil
}
