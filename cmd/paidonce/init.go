package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/paidonce/paidonce/internal/install"
	"github.com/paidonce/paidonce/migrations"
)

type initCommand struct {
	Dir string `default:"." placeholder:"FOLDER" help:"The project, or a folder in it (${default})."`
}

func (initCommand) Help() string {
	return `Finds the Supabase project (a folder supabase/ with config.toml or migrations/) and writes paidonce's migrations into
supabase/migrations, timestamped after everything that is there. What is there already stays as it is, so it may be
run again after every update of paidonce.`
}

const nextSteps = `
Next
  1. supabase db push
  2. Give the handler a login of its own, which may execute one function and nothing else (SQL editor or psql):
       create role stripe_handler login password '…' in role paidonce_edge;
  3. Run the handler where Stripe can reach it:
       DATABASE_URL='postgres://stripe_handler:…@HOST:5432/postgres' STRIPE_WEBHOOK_SECRET='whsec_…' paidonce serve
  4. In Stripe, add a webhook endpoint for https://YOUR-HOST/webhooks/stripe and put its signing secret into step 3.
  5. See what comes in, as the owner: DATABASE_URL='postgres://postgres:…' paidonce events list
`

func (c initCommand) Run(_ context.Context, io streams) error {
	project, err := install.Find(c.Dir)
	if errors.Is(err, install.ErrNoProject) {
		return advised{err: err, next: "run `supabase init` there first, or name the project with --dir; without Supabase, `paidonce migrate up` is all you need"}
	}
	if err != nil {
		return misuse{err: err, next: "name an existing folder with --dir"}
	}
	report, err := install.Write(project, migrations.FS, time.Now())
	fmt.Fprintf(io.out, "Supabase project %s\n", report.Project)
	for _, f := range report.Files {
		state := "there already"
		switch {
		case f.Written:
			state = "written"
		case f.Differs:
			state = "there already, with other content than this version's: left as it is (not applied yet? delete it and run init again)"
		}
		fmt.Fprintf(io.out, "  migrations/%s  %s\n", filepath.Base(f.Path), state)
	}
	if err != nil {
		return err
	}
	fmt.Fprint(io.out, nextSteps)
	return nil
}
