package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/internal/migrate"
	"github.com/paidonce/paidonce/internal/oplog/eventlog"
)

type migrateCommand struct {
	Up     migrateUpCommand     `cmd:"" help:"Apply what is missing."`
	Status migrateStatusCommand `cmd:"" help:"Say what is applied and what is missing; exit code 1 if anything is."`
	Down   migrateDownCommand   `cmd:"" help:"Take the latest migration back, and the data in its tables with it."`
}

type migrateUpCommand struct {
	databaseFlags
}

func (migrateUpCommand) Help() string {
	return `Needs a direct or session connection as the role that is to own the schema (postgres on Supabase). May be run again,
and by several at once. In a Supabase project, "paidonce init" and "supabase db push" do the same.`
}

func (c migrateUpCommand) Run(ctx context.Context, io streams) error {
	if err := c.require(); err != nil {
		return err
	}
	r, err := migrate.Up(ctx, c.DatabaseURL, nil)
	if err != nil {
		return err
	}
	if r.Adopted {
		fmt.Fprintf(io.out, "applied by the Supabase CLI before: up to version %d\n", r.From)
	}
	if r.Healed {
		fmt.Fprintln(io.out, "an earlier run had been cut off: repaired")
	}
	for _, name := range r.Applied {
		fmt.Fprintf(io.out, "applied %s\n", name)
	}
	fmt.Fprintf(io.out, "the schema is at version %d, the latest\n", r.To)
	return nil
}

type migrateStatusCommand struct {
	databaseFlags
	JSON bool `help:"As JSON."`
}

func (c migrateStatusCommand) Run(ctx context.Context, io streams) error {
	if err := c.require(); err != nil {
		return err
	}
	s, err := migrate.Status(ctx, c.DatabaseURL)
	if err != nil {
		return err
	}
	if c.JSON {
		err = printJSON(io.out, s)
	} else {
		_, err = fmt.Fprintf(io.out, "version %d of %d\n", s.Version, s.Latest)
		for _, name := range s.Pending {
			fmt.Fprintf(io.out, "missing %s\n", name)
		}
	}
	switch {
	case err != nil:
		return err
	case s.Dirty:
		return advised{err: errors.New("a run was cut off"), next: "run `paidonce migrate up`, which repairs it"}
	case len(s.Pending) > 0:
		return advised{err: fmt.Errorf("not applied: %s", strings.Join(s.Pending, ", ")), next: "run `paidonce migrate up`"}
	}
	return nil
}

type migrateDownCommand struct {
	databaseFlags
	Steps int  `default:"1" placeholder:"N" help:"How many (${default})."`
	Yes   bool `help:"Also when there are events stored, which may be lost with their tables."`
}

func (c migrateDownCommand) Validate() error {
	if c.Steps < 1 {
		return errors.New("--steps must be at least 1")
	}
	return nil
}

func (c migrateDownCommand) Run(ctx context.Context, io streams) error {
	if !c.Yes {
		if err := c.refuseLoss(ctx); err != nil {
			return err
		}
	}
	if err := c.require(); err != nil {
		return err
	}
	r, err := migrate.Down(ctx, c.DatabaseURL, c.Steps, nil)
	if err != nil {
		return err
	}
	for _, name := range r.Applied {
		fmt.Fprintf(io.out, "taken back %s\n", name)
	}
	fmt.Fprintf(io.out, "the schema is at version %d\n", r.To)
	return nil
}

func (c migrateDownCommand) refuseLoss(ctx context.Context) error {
	pool, err := c.open(ctx, database.Options{MaxConns: 1})
	if err != nil {
		return err
	}
	defer pool.Close()
	stored, err := eventlog.Any(ctx, pool)
	if err != nil {
		return err
	}
	if stored {
		return misuse{
			err:  errors.New("there are events stored in this database, and going down may remove them for good"),
			next: "add --yes if that is meant; pg_dump --schema=paidonce keeps a copy",
		}
	}
	return nil
}
