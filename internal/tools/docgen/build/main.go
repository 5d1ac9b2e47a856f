// Command build writes docs/reference and the help texts in docs/cli.md. It is what `make docs` runs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/paidonce/paidonce/internal/migrate"
	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/tools/docgen"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, "."); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	pages, err := reference(ctx, dir)
	if err != nil {
		return err
	}
	if pages[docgen.CLIPage], err = commands(ctx, dir); err != nil {
		return err
	}
	touched, err := pages.Write(dir)
	if err != nil {
		return err
	}
	if len(touched) == 0 {
		fmt.Println("the generated pages are up to date")
	}
	for _, name := range touched {
		fmt.Println("wrote", name)
	}
	return nil
}

// reference asks a database of its own, migrated as a user would.
func reference(ctx context.Context, dir string) (pages docgen.Pages, err error) {
	c, err := cluster.Start(ctx, cluster.Options{Settings: map[string]string{"fsync": "off"}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := c.CreateDatabase(ctx, "docs", cluster.Supabase); err != nil {
		return nil, err
	}
	url := c.URL("postgres", "docs")
	if _, err := migrate.Up(ctx, url, nil); err != nil {
		return nil, err
	}
	db, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close(context.WithoutCancel(ctx))) }()
	return docgen.Reference(ctx, db, os.DirFS(dir))
}

func commands(ctx context.Context, dir string) (page string, err error) {
	written, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(docgen.CLIPage)))
	if err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp("", "paidonce-docs-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	program, err := docgen.BuildProgram(ctx, dir, temp)
	if err != nil {
		return "", err
	}
	return docgen.CLI(ctx, program, string(written))
}
