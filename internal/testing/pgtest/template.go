package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/migrations"
)

// Template describes the databases that tests get copies of.
type Template struct {
	Kind     cluster.Kind
	Migrated bool
}

func (t Template) name() string {
	name := "template_plain"
	if t.Kind == cluster.Supabase {
		name = "template_supabase"
	}
	if t.Migrated {
		name += "_migrated"
	}
	return name
}

// CreateDatabase makes a new copy of a template and returns its name.
func CreateDatabase(ctx context.Context, c *cluster.Cluster, template Template) (string, error) {
	if err := ensure(ctx, c, template); err != nil {
		return "", fmt.Errorf("make %s: %w", template.name(), err)
	}
	name := "test_" + strings.ToLower(rand.Text()[:12])
	return name, c.CloneDatabase(ctx, name, template.name())
}

// ensure makes the template if no test has yet. The test binaries of several
// packages run side by side, so one makes it and the others wait for it; it
// gets its name last, so that a half-made one is never taken for it.
func ensure(ctx context.Context, c *cluster.Cluster, template Template) error {
	conn, err := pgx.Connect(ctx, c.URL(cluster.Superuser, "postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	const exists = "select exists (select from pg_database where datname = $1)"
	var done bool
	if err := conn.QueryRow(ctx, exists, template.name()).Scan(&done); err != nil || done {
		return err
	}
	if _, err := conn.Exec(ctx, "select pg_advisory_lock(hashtext('paidonce template'))"); err != nil {
		return err
	}
	if err := conn.QueryRow(ctx, exists, template.name()).Scan(&done); err != nil || done {
		return err
	}
	draft := template.name() + "_draft"
	if err := c.DropDatabase(ctx, draft); err != nil {
		return err
	}
	if err := c.CreateDatabase(ctx, draft, template.Kind); err != nil {
		return err
	}
	if template.Migrated {
		if err := applyMigrations(ctx, c.URL("postgres", draft)); err != nil {
			return err
		}
	}
	_, err = conn.Exec(ctx, fmt.Sprintf(`alter database %s rename to %s`,
		pgx.Identifier{draft}.Sanitize(), pgx.Identifier{template.name()}.Sanitize()))
	return err
}

// applyMigrations runs the files as they stand. Going through golang-migrate
// is what its own tests are for, and they need this package.
func applyMigrations(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	files, err := fs.Glob(migrations.FS, "*.up.sql")
	if err != nil {
		return err
	}
	for _, file := range files {
		sql, err := fs.ReadFile(migrations.FS, file)
		if err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, string(sql)); err != nil {
			return fmt.Errorf("apply %s: %w", file, err)
		}
	}
	return nil
}
