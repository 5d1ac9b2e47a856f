// Package install puts paidonce's migrations into an existing Supabase project.
//
// A Supabase project applies supabase/migrations/<14 digits>_<name>.sql in the order of the file names, and
// remembers the digits. So each migration gets a timestamp of its own that is fresh and comes after everything
// the project has; it is recognised later by its name, never by its digits. A file that is there is never
// written again: it may have been applied, and edited.
package install

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrNoProject says that no Supabase project was found.
var ErrNoProject = errors.New("no Supabase project found: no folder supabase/ with a config.toml or migrations/ in it")

// ErrNoRoom says that a project has a migration which no timestamp can follow.
var ErrNoRoom = errors.New("no timestamp sorts after it: rename that migration to <14 digits>_<name>.sql first")

const layout = "20060102150405" // the 14 digits

var (
	embeddedName = regexp.MustCompile(`^([0-9]+)_(.+)\.up\.sql$`)
	projectName  = regexp.MustCompile(`^([0-9]+)_(.*)\.sql$`) // what the Supabase CLI takes for a migration
)

// File is one of paidonce's migrations in the project.
type File struct {
	Path    string `json:"path"`
	Written bool   `json:"written"` // by this run
	Differs bool   `json:"differs"` // was there before, with other content than this release's
}

// Report is what a run found and did.
type Report struct {
	Project string `json:"project"` // the folder supabase/
	Files   []File `json:"files"`
}

// Find returns the folder supabase/ of the project that dir is in: in dir itself or in the nearest folder
// above it, as the Supabase CLI looks for it.
func Find(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the project: %w", err)
	}
	if info, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("find the project: %w", err)
	} else if !info.IsDir() {
		return "", fmt.Errorf("find the project: %s is not a folder", dir)
	}
	for {
		if project := filepath.Join(dir, "supabase"); isProject(project) {
			return project, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", ErrNoProject
		}
		dir = parent
	}
}

func isProject(path string) bool {
	for _, name := range []string{"config.toml", "migrations"} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return true
		}
	}
	return false
}

// Write adds those of the migrations (files named <number>_<name>.up.sql) that the project does not have.
func Write(project string, migrations fs.FS, now time.Time) (Report, error) {
	report := Report{Project: project}
	folder := filepath.Join(project, "migrations")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return report, fmt.Errorf("write migrations: %w", err)
	}
	present, err := readProject(folder)
	if err != nil {
		return report, fmt.Errorf("write migrations: %w", err)
	}
	wanted, err := fs.Glob(migrations, "*.up.sql")
	if err != nil {
		return report, fmt.Errorf("write migrations: %w", err)
	}
	slices.Sort(wanted)

	last := slices.MaxFunc(append(present, ""), cmp.Compare)
	for _, source := range wanted {
		match := embeddedName.FindStringSubmatch(source)
		if match == nil {
			return report, fmt.Errorf("write migrations: unexpected name %q", source)
		}
		content, err := fs.ReadFile(migrations, source)
		if err != nil {
			return report, fmt.Errorf("write migrations: %w", err)
		}
		name := "paidonce_" + match[2]
		if old, ok := find(present, name); ok {
			file, err := compare(filepath.Join(folder, old), content)
			if err != nil {
				return report, fmt.Errorf("write migrations: %w", err)
			}
			report.Files = append(report.Files, file)
			continue
		}
		version, err := after(last, now)
		if err != nil {
			return report, fmt.Errorf("write migrations: %s: %w", last, err)
		}
		last = version + "_" + name + ".sql"
		if err := create(filepath.Join(folder, last), content); err != nil {
			return report, fmt.Errorf("write migrations: %w", err)
		}
		report.Files = append(report.Files, File{Path: filepath.Join(folder, last), Written: true})
	}
	return report, nil
}

// readProject lists the files that the Supabase CLI would apply.
func readProject(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && projectName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func find(present []string, name string) (string, bool) {
	i := slices.IndexFunc(present, func(file string) bool { return projectName.FindStringSubmatch(file)[2] == name })
	if i < 0 {
		return "", false
	}
	return present[i], true
}

func compare(path string, content []byte) (File, error) {
	old, err := os.ReadFile(path)
	if err != nil {
		return File{}, err
	}
	return File{Path: path, Differs: !bytes.Equal(old, content)}, nil
}

// after returns now as 14 digits, or the next moment that sorts behind last, the name of a migration.
func after(last string, now time.Time) (string, error) {
	version := now.UTC().Format(layout)
	if version > last {
		return version, nil
	}
	digits, _, _ := strings.Cut(last, "_")
	if len(digits) != len(layout) {
		return "", ErrNoRoom
	}
	if at, err := time.Parse(layout, digits); err == nil {
		return at.Add(time.Second).Format(layout), nil
	}
	// Fourteen digits, but no moment in time: the project counts in its own way.
	n, err := strconv.ParseInt(digits, 10, 64)
	if next := strconv.FormatInt(n+1, 10); err == nil && len(next) == len(layout) {
		return next, nil
	}
	return "", ErrNoRoom
}

// create writes a new file, or nothing: neither half a migration nor over one that just appeared.
func create(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
