package cluster

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// oldest is the first Postgres version that the schema runs on.
const oldest = 15

// ErrNoPostgres says that no usable Postgres is installed.
var ErrNoPostgres = fmt.Errorf("no Postgres %d or newer is installed (looked for initdb and postgres on the PATH, in /usr/lib/postgresql, "+
	"in Homebrew's and in Postgres.app's folders): run `make postgres`, or `apt-get install postgresql`, or `brew install postgresql@17`", oldest)

// FindBinDir returns the folder with the server programs of the Postgres on
// the PATH, else of the newest that is installed where packages put it.
func FindBinDir() (string, error) {
	var onPath string
	if initdb, err := exec.LookPath("initdb"); err == nil {
		// A link on the PATH may stand alone; its target has its neighbours.
		if initdb, err = filepath.EvalSymlinks(initdb); err == nil {
			onPath = filepath.Dir(initdb)
		}
	}
	return newest(onPath,
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin")
}

// newest prefers the first folder, then the highest version that the patterns find.
func newest(first string, patterns ...string) (string, error) {
	if first != "" && version(first) >= oldest {
		return first, nil
	}
	best, found := "", oldest-1
	for _, pattern := range patterns {
		folders, _ := filepath.Glob(pattern)
		for _, folder := range folders {
			if v := version(folder); v > found {
				best, found = folder, v
			}
		}
	}
	if best == "" {
		return "", ErrNoPostgres
	}
	return best, nil
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// version returns the major version of a folder's server, 0 if there is none.
func version(folder string) int {
	if _, err := exec.LookPath(filepath.Join(folder, "initdb")); err != nil {
		return 0
	}
	out, err := exec.Command(filepath.Join(folder, "postgres"), "--version").Output()
	if err != nil {
		return 0
	}
	match := versionPattern.FindSubmatch(out)
	if match == nil {
		return 0
	}
	major, _ := strconv.Atoi(string(match[1]))
	return major
}
