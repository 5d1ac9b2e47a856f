// Package migrate applies the embedded migrations through golang-migrate and
// makes up for what that leaves to its caller.
//
// Its table lives in schema paidonce, which has to exist first, and is closed
// to the API roles. A transaction pooler is refused before anything is done:
// the lock that keeps two runs apart belongs to a session. Waiting for that lock
// and for every other one is bounded. A run that was cut off is repaired by the next: golang-migrate
// then finds its version marked dirty and wants a human, but every file here is one
// transaction and may be run again, so the repair is to step back and do that.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	gomigrate "github.com/golang-migrate/migrate/v4"

	"github.com/paidonce/paidonce/migrations"
)

// Report says what a run did.
type Report struct {
	From    int      `json:"from"`              // version before, 0 for none
	To      int      `json:"to"`                // version after
	Applied []string `json:"applied"`           // names in the order they were run
	Healed  bool     `json:"healed,omitempty"`  // an earlier run had been cut off
	Adopted bool     `json:"adopted,omitempty"` // the Supabase CLI had applied From
}

// State says how far a database is.
type State struct {
	Version int      `json:"version"` // 0 for none
	Latest  int      `json:"latest"`  // what this program would migrate to
	Dirty   bool     `json:"dirty"`   // a run was cut off; Up repairs it
	Pending []string `json:"pending"` // names, in order
	Adopted bool     `json:"adopted"` // known from the Supabase CLI's history only
}

// Up applies every migration that the database does not have yet. It may be
// run from several processes at once: one does the work, the others find it done.
func Up(ctx context.Context, databaseURL string, log *slog.Logger) (Report, error) {
	return embedded(log).up(ctx, databaseURL)
}

// Down takes back the given number of migrations, newest first, and with
// them the data in the tables they made.
func Down(ctx context.Context, databaseURL string, steps int, log *slog.Logger) (Report, error) {
	return embedded(log).down(ctx, databaseURL, steps)
}

// Status only reads, and works through any pooler.
func Status(ctx context.Context, databaseURL string) (State, error) {
	return embedded(nil).status(ctx, databaseURL)
}

// runner is what a run depends on besides the database.
type runner struct {
	source   fs.FS
	log      *slog.Logger
	lockWait time.Duration // for other runs, and for each lock of a migration
}

func embedded(log *slog.Logger) runner {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return runner{source: migrations.FS, log: log, lockWait: 30 * time.Second}
}

func (r runner) up(ctx context.Context, databaseURL string) (Report, error) {
	s, err := r.open(ctx, databaseURL)
	if err != nil {
		return Report{}, fmt.Errorf("migrate up: %w", err)
	}
	defer s.close()
	report, err := s.up(ctx)
	if err != nil {
		return report, fmt.Errorf("migrate up: %w", s.explain(ctx, err))
	}
	return report, nil
}

func (s *session) up(ctx context.Context) (Report, error) {
	at, err := s.version(ctx)
	if err != nil {
		return Report{}, err
	}
	report := Report{}
	if latest := len(s.files); at.number > latest {
		return report, fmt.Errorf("the database is at migration %d and this program knows only %d: use a newer one", at.number, latest)
	}
	if at.dirty {
		// Which half was cut off cannot be told, nor need it be: the file and
		// the mark are two transactions, and the file does no harm twice.
		s.log.Warn("an earlier migration was cut off, running it again", "version", at.number)
		at = position{number: max(at.number-1, 0)}
		if err := s.force(at.number); err != nil {
			return report, err
		}
		report.Healed = true
	} else if s.firstContact {
		adopted, err := s.appliedBySupabase(ctx)
		if err != nil {
			return report, err
		}
		if adopted > 0 {
			s.log.Info("the Supabase CLI has applied migrations already", "version", adopted)
			if err := s.force(adopted); err != nil {
				return report, err
			}
			at.number, report.Adopted = adopted, true
		}
	}
	report.From, report.To = at.number, at.number
	if err := s.migrate.Up(); err != nil && !errors.Is(err, gomigrate.ErrNoChange) {
		return report, err
	}
	report.To = len(s.files)
	for _, f := range s.files[report.From:] {
		report.Applied = append(report.Applied, f.id())
		s.log.Info("migration applied", "migration", f.id())
	}
	return report, ctx.Err()
}

func (r runner) down(ctx context.Context, databaseURL string, steps int) (Report, error) {
	if steps < 1 {
		return Report{}, errors.New("migrate down: say how many migrations to take back, at least 1")
	}
	s, err := r.open(ctx, databaseURL)
	if err != nil {
		return Report{}, fmt.Errorf("migrate down: %w", err)
	}
	defer s.close()
	report, err := s.down(ctx, steps)
	if err != nil {
		return report, fmt.Errorf("migrate down: %w", s.explain(ctx, err))
	}
	return report, nil
}

func (s *session) down(ctx context.Context, steps int) (Report, error) {
	at, err := s.version(ctx)
	if err != nil {
		return Report{}, err
	}
	if at.dirty {
		return Report{}, fmt.Errorf("an earlier run was cut off at migration %d: run migrate up, which repairs it, and then down", at.number)
	}
	report := Report{From: at.number, To: at.number}
	if at.number > len(s.files) {
		return report, fmt.Errorf("the database is at migration %d and this program knows only %d: use a newer one", at.number, len(s.files))
	}
	if at.number == 0 {
		return report, errors.New("no migration is applied here")
	}
	report.To = at.number - min(steps, at.number)
	if err := s.migrate.Steps(report.To - report.From); err != nil {
		return report, err
	}
	for n := report.From; n > report.To; n-- {
		report.Applied = append(report.Applied, s.files[n-1].id())
		s.log.Info("migration taken back", "migration", s.files[n-1].id())
	}
	return report, ctx.Err()
}
