package migrate

import (
	"fmt"
	"io/fs"
	"regexp"
	"strconv"

	"github.com/paidonce/paidonce/migrations"
)

// File is one migration, upwards.
type File struct {
	Number int
	Name   string
	SQL    string
}

func (f File) id() string { return fmt.Sprintf("%06d_%s", f.Number, f.Name) }

// Files returns the embedded migrations in order.
func Files() ([]File, error) { return readFiles(migrations.FS) }

var upName = regexp.MustCompile(`^([0-9]{6})_(.+)\.up\.sql$`)

func readFiles(source fs.FS) ([]File, error) {
	paths, err := fs.Glob(source, "*.up.sql")
	if err != nil {
		return nil, err
	}
	files := make([]File, 0, len(paths))
	for i, p := range paths {
		parts := upName.FindStringSubmatch(p)
		if parts == nil {
			return nil, fmt.Errorf("%s is not the name of a migration", p)
		}
		number, err := strconv.Atoi(parts[1])
		if err != nil || number != i+1 {
			return nil, fmt.Errorf("%s: expected migration number %d", p, i+1)
		}
		text, err := fs.ReadFile(source, p)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Number: number, Name: parts[2], SQL: string(text)})
	}
	return files, nil
}
