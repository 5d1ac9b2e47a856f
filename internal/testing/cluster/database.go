package cluster

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed supabase.sql
var supabaseSQL string

// Kind is what a new database looks like.
type Kind int

const (
	// Plain is an empty database of the role postgres.
	Plain Kind = iota
	// Supabase has, besides, the schemas and the default privileges of a Supabase project.
	Supabase
)

// CreateDatabase creates a database owned by the role postgres.
func (c *Cluster) CreateDatabase(ctx context.Context, name string, kind Kind) error {
	if err := c.exec(ctx, "postgres", "create database "+quote(name)+" owner postgres template template0"); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	if kind == Plain {
		return nil
	}
	if err := c.exec(ctx, name, supabaseSQL); err != nil {
		return fmt.Errorf("make database %s like supabase's: %w", name, err)
	}
	return nil
}

// CloneDatabase creates a database as a copy of another, which nobody may be
// connected to.
func (c *Cluster) CloneDatabase(ctx context.Context, name, template string) error {
	if err := c.exec(ctx, "postgres", "create database "+quote(name)+" owner postgres template "+quote(template)); err != nil {
		return fmt.Errorf("clone database %s: %w", template, err)
	}
	// Postgres copies everything but the settings made by `alter database`.
	const settings = `
		select format('alter database %I set %s to %L', $1::text, split_part(setting, '=', 1), substr(setting, strpos(setting, '=') + 1))
		from pg_db_role_setting s
		join pg_database d on d.oid = s.setdatabase and s.setrole = 0,
		unnest(s.setconfig) setting
		where d.datname = $2`
	if err := c.execEach(ctx, settings, name, template); err != nil {
		return fmt.Errorf("clone database %s: %w", template, err)
	}
	return nil
}

// DropDatabase drops a database and whoever is connected to it.
func (c *Cluster) DropDatabase(ctx context.Context, name string) error {
	if err := c.exec(ctx, "postgres", "drop database if exists "+quote(name)+" with (force)"); err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}

// AllowLogin lets a role log in with the cluster's password.
func (c *Cluster) AllowLogin(ctx context.Context, role string) error {
	// Altering one role from two sessions at once fails, so take turns.
	const statements = `
		select unnest(array[
			'select pg_advisory_xact_lock(hashtext(''paidonce role''))',
			format('alter role %I login password %L', $1::text, $2::text)])`
	if err := c.execEach(ctx, statements, role, c.password); err != nil {
		return fmt.Errorf("allow %s to log in: %w", role, err)
	}
	return nil
}

func (c *Cluster) exec(ctx context.Context, database, sql string) error {
	conn, err := c.connect(ctx, database)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

// execEach runs a query that writes statements and then, in one transaction,
// the statements: it lets Postgres itself quote what stands in them. Settings
// whose value is a list must not pass here, as they are quoted as one.
func (c *Cluster) execEach(ctx context.Context, query string, args ...any) error {
	conn, err := c.connect(ctx, "postgres")
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
