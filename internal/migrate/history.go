package migrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/paidonce/paidonce/go/database"
)

// position is what the table of migrations says.
type position struct {
	number int
	dirty  bool
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func (s *session) version(ctx context.Context) (position, error) { return readVersion(ctx, s.control) }

func readVersion(ctx context.Context, q querier) (position, error) {
	var p position
	err := q.QueryRow(ctx, "select version, dirty from "+table+" limit 1").Scan(&p.number, &p.dirty)
	if errors.Is(err, pgx.ErrNoRows) {
		return position{}, nil
	}
	p.number = max(p.number, 0) // -1 while the first one is being taken back
	return p, err
}

// force sets the version without running anything.
func (s *session) force(number int) error {
	if number == 0 {
		number = -1 // golang-migrate's "none"
	}
	return s.migrate.Force(number)
}

func (s *session) appliedBySupabase(ctx context.Context) (int, error) {
	return appliedBySupabase(ctx, s.control, s.files)
}

// appliedBySupabase returns the number of the last migration that the Supabase
// CLI has recorded, with all before it. Its versions are times that differ from
// project to project, so ours are known by their names.
func appliedBySupabase(ctx context.Context, q querier, files []File) (int, error) {
	var readable bool
	err := q.QueryRow(ctx, `
		select exists (
			select
			from pg_catalog.pg_namespace as n
			join pg_catalog.pg_class as c on c.relnamespace = n.oid and c.relname = 'schema_migrations'
			join pg_catalog.pg_attribute as a on a.attrelid = c.oid and a.attname = 'name'
			where n.nspname = 'supabase_migrations'
			and has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
		)`).Scan(&readable)
	if err != nil || !readable {
		return 0, err
	}
	rows, err := q.Query(ctx, `select name from supabase_migrations.schema_migrations where name like 'paidonce\_%'`)
	if err != nil {
		return 0, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, err
	}
	recorded := map[string]bool{}
	for _, name := range names {
		recorded[name] = true
	}
	last := 0
	for last < len(files) && recorded["paidonce_"+files[last].Name] {
		last++
	}
	return last, nil
}

func (r runner) status(ctx context.Context, databaseURL string) (State, error) {
	s, err := r.readStatus(ctx, databaseURL)
	if err != nil {
		return s, fmt.Errorf("migrate status: %w", err)
	}
	return s, nil
}

func (r runner) readStatus(ctx context.Context, databaseURL string) (State, error) {
	files, err := readFiles(r.source)
	if err != nil {
		return State{}, err
	}
	pool, err := database.Open(ctx, databaseURL, database.Options{ApplicationName: "paidonce migrate", MaxConns: 1, PoolerMode: true})
	if err != nil {
		return State{}, err
	}
	defer pool.Close()

	state := State{Latest: len(files), Pending: []string{}}
	var hasTable bool
	err = pool.QueryRow(ctx, `
		select exists (
			select
			from pg_catalog.pg_class
			where relnamespace = to_regnamespace('paidonce') and relname = 'schema_migrations'
		)`).Scan(&hasTable)
	if err != nil {
		return state, err
	}
	if hasTable {
		at, err := readVersion(ctx, pool)
		if err != nil {
			return state, err
		}
		state.Version, state.Dirty = at.number, at.dirty
	} else {
		if state.Version, err = appliedBySupabase(ctx, pool, files); err != nil {
			return state, err
		}
		state.Adopted = state.Version > 0
	}
	done := state.Version
	if state.Dirty {
		done = max(done-1, 0)
	}
	for _, f := range files[min(done, len(files)):] {
		state.Pending = append(state.Pending, f.id())
	}
	return state, nil
}
