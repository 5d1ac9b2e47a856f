package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	godatabase "github.com/golang-migrate/migrate/v4/database"
)

// explain replaces golang-migrate's error, whose message repeats the whole
// file, by the place in the file people edit.
func (s *session) explain(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("interrupted: %w", cause)
	}
	// A failed file comes as a value, everything else as a pointer; where both
	// are there, the file failed first.
	var failed godatabase.Error
	if pointer := (*godatabase.Error)(nil); !errors.As(err, &failed) {
		if !errors.As(err, &pointer) {
			return err
		}
		failed = *pointer
	}
	if failed.OrigErr == nil {
		return errors.New(failed.Err)
	}
	if where := s.place(string(failed.Query), int(failed.Line)); where != "" {
		return fmt.Errorf("%s: %w", where, failed.OrigErr)
	}
	return failed.OrigErr
}

// place names the migration and, where the line is known, the section.
func (s *session) place(query string, line int) string {
	for _, f := range s.files {
		if f.SQL != query {
			continue
		}
		// The whole file is one string to Postgres, which tells no position
		// for an error that arises while a statement runs.
		if line < 1 {
			return f.id()
		}
		lines := strings.Split(f.SQL, "\n")
		for n := min(line, len(lines)) - 1; n >= 0; n-- {
			if path, ok := strings.CutPrefix(lines[n], "-- file: "); ok {
				return fmt.Sprintf("%s, %s line %d", f.id(), strings.TrimSpace(path), line-n-1)
			}
		}
		return fmt.Sprintf("%s line %d", f.id(), line)
	}
	return ""
}
