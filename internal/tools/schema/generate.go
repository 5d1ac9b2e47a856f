package schema

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// frozen is the file that freezes migrations: lines of `sha256sum`, one per file
// that must never change again.
const frozen = "migrations/frozen"

// Files are the contents of generated files by slash-separated path. No content
// at all means that the file is to be removed.
type Files map[string][]byte

// Generate computes the files that are built from others: the first migration
// while it is not frozen, and the copies of all up files for the Supabase CLI.
func Generate(root fs.FS) (Files, error) {
	files := Files{}
	keep, err := isFrozen(root)
	if err != nil {
		return nil, err
	}
	if !keep {
		sections, err := Load(root)
		if err != nil {
			return nil, err
		}
		files[firstUp], files[firstDown] = []byte(up(sections)), []byte(down(sections))
	}
	for _, old := range glob(root, "supabase/migrations/*_paidonce_*.sql") {
		files[old] = nil
	}
	ups := glob(root, "migrations/*.up.sql")
	if !keep && !slices.Contains(ups, firstUp) {
		ups = append(ups, firstUp)
	}
	for _, file := range ups {
		var number int
		var name string
		if _, err := fmt.Sscanf(path.Base(file), "%06d_%s", &number, &name); err != nil {
			return nil, fmt.Errorf("%s: not named like 000002_add_things.up.sql", file)
		}
		text, built := files[file]
		if !built {
			if text, err = fs.ReadFile(root, file); err != nil {
				return nil, err
			}
		}
		// The versions of the Supabase CLI have fourteen digits and compare as
		// text. These only have to be stable and in order.
		files[fmt.Sprintf("supabase/migrations/%014d_paidonce_%s.sql", 20260101000000+number, strings.TrimSuffix(name, ".up.sql"))] = text
	}
	return files, nil
}

// isFrozen says whether the first migration is left as it is: once there is a
// second one, or a file of checksums, which then have to be right.
func isFrozen(root fs.FS) (bool, error) {
	sums, err := fs.ReadFile(root, frozen)
	if errors.Is(err, fs.ErrNotExist) {
		return len(glob(root, "migrations/000002_*.sql")) > 0, nil
	}
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		text, err := fs.ReadFile(root, path.Join(path.Dir(frozen), name))
		if err != nil {
			return false, fmt.Errorf("%s: %w", frozen, err)
		}
		if fmt.Sprintf("%x", sha256.Sum256(text)) != sum {
			return false, fmt.Errorf("%s is frozen: put it back as it was, and make the change in the next migration", name)
		}
	}
	return true, nil
}

// Write brings the files below dir in line and returns the paths it touched.
func (files Files) Write(dir string) ([]string, error) {
	stale := files.Stale(os.DirFS(dir))
	for _, file := range stale {
		target := filepath.Join(dir, filepath.FromSlash(file))
		err := os.MkdirAll(filepath.Dir(target), 0o755)
		if files[file] == nil {
			err = os.Remove(target)
		} else if err == nil {
			err = os.WriteFile(target, files[file], 0o644)
		}
		if err != nil {
			return nil, fmt.Errorf("write migrations: %w", err)
		}
	}
	return stale, nil
}

// Stale lists the paths below root that are not as they have to be.
func (files Files) Stale(root fs.FS) []string {
	var stale []string
	for file, want := range files {
		got, err := fs.ReadFile(root, file)
		if (err == nil) != (want != nil) || !bytes.Equal(got, want) {
			stale = append(stale, file)
		}
	}
	slices.Sort(stale)
	return stale
}

// glob is fs.Glob for patterns that are known to be good.
func glob(root fs.FS, pattern string) []string {
	found, _ := fs.Glob(root, pattern)
	return found
}
