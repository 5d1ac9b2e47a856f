// Prove runs pgTAP files through pg_prove, in a migrated database of the
// cluster that the environment names, as the role that owns the schema.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func main() {
	if err := prove(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(1)
	}
}

func prove(ctx context.Context, files []string) (err error) {
	if len(files) == 0 {
		return errors.New("usage: prove file.sql [file.sql]")
	}
	program, err := exec.LookPath("pg_prove")
	if err != nil {
		return errors.New("pg_prove is not installed: run `make tools`")
	}
	bin, err := cluster.FindBinDir()
	if err != nil {
		return err
	}
	c, err := cluster.Attach(os.Getenv(pgtest.Environment))
	if err != nil {
		return err
	}
	name, err := pgtest.CreateDatabase(ctx, c, pgtest.Template{Kind: cluster.Supabase, Migrated: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.DropDatabase(ctx, name)) }()
	if err := addExtension(ctx, c.URL(cluster.Superuser, name)); err != nil {
		return err
	}
	login, err := pgx.ParseConfig(c.URL("postgres", name))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"--psql-bin", filepath.Join(bin, "psql")}, files...)...)
	cmd.Env = append(os.Environ(), "PGHOST="+login.Host, "PGPORT="+strconv.Itoa(int(login.Port)),
		"PGUSER="+login.User, "PGPASSWORD="+login.Password, "PGDATABASE="+login.Database)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// addExtension puts pgTAP where Supabase puts extensions: only a superuser may.
func addExtension(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "create extension pgtap with schema extensions"); err != nil {
		return fmt.Errorf("%w: run `make tools`", err)
	}
	return nil
}
