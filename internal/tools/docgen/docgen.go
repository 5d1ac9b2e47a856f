// Package docgen writes the pages of docs/ that a database and a program can say better than a person: one page
// per table, view and function to call, from what the migrated database says of itself, and the help texts in
// docs/cli.md.
//
// A page's sentences come from `comment on`; what a function takes, raises and locks comes from the header of its
// file. Nothing here has words of its own about them, so a page cannot say what the code does not.
//
// It is a build tool: nothing in the product imports it.
package docgen

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// folder is where the pages are, relative to the repository. It holds generated files only.
const folder = "docs/reference"

// Pages are file contents by slash-separated path relative to the repository.
type Pages map[string]string

// Stale compares the pages with what is below dir and returns the paths that differ, are missing, or are there
// although nothing generates them any more.
func (p Pages) Stale(dir string) ([]string, error) {
	stale := map[string]bool{}
	for name, content := range p {
		old, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("compare pages: %w", err)
		}
		if err != nil || string(old) != content {
			stale[name] = true
		}
	}
	left, err := leftOver(dir, p)
	if err != nil {
		return nil, fmt.Errorf("compare pages: %w", err)
	}
	for _, name := range left {
		stale[name] = true
	}
	return slices.Sorted(maps.Keys(stale)), nil
}

// Write makes the files below dir those of p and returns the paths that it touched.
func (p Pages) Write(dir string) ([]string, error) {
	stale, err := p.Stale(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range stale {
		file := filepath.Join(dir, filepath.FromSlash(name))
		content, wanted := p[name]
		if !wanted {
			err = os.Remove(file)
		} else if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
			err = os.WriteFile(file, []byte(content), 0o644)
		}
		if err != nil {
			return nil, fmt.Errorf("write pages: %w", err)
		}
	}
	return stale, nil
}

func leftOver(dir string, p Pages) ([]string, error) {
	var left []string
	root := os.DirFS(dir)
	err := fs.WalkDir(root, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if _, wanted := p[name]; !wanted && path.Ext(name) == ".md" {
			left = append(left, name)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return left, err
}
