package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	gomigrate "github.com/golang-migrate/migrate/v4"
	pgxdriver "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/paidonce/paidonce/go/database"
)

const (
	table = `"paidonce"."schema_migrations"`

	// lockKey is the advisory lock of a whole run ("paidonce" in ASCII).
	// golang-migrate has one of its own, but lets go of it between finding a
	// dirty version and being told what to do about it.
	lockKey = 0x706169646f6e6365
)

// session is one run: it holds the lock from open to close.
type session struct {
	log          *slog.Logger
	files        []File
	pool         *pgxpool.Pool
	control      *pgxpool.Conn // holds the lock
	db           *sql.DB       // golang-migrate's
	migrate      *gomigrate.Migrate
	firstContact bool // the table of migrations is new
	stopWatch    func() bool
}

func (r runner) open(ctx context.Context, databaseURL string) (_ *session, err error) {
	kind, err := database.Probe(ctx, databaseURL)
	if err != nil {
		return nil, err
	}
	if kind == database.TransactionPooler {
		return nil, errors.New("this URL leads through a transaction pooler, where the lock of a migration would be lost: " +
			"use the direct connection or the session pooler (on Supabase: port 5432 instead of 6543)")
	}
	s := &session{log: r.log}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.files, err = readFiles(r.source); err != nil {
		return nil, err
	}
	if s.pool, err = database.Open(ctx, databaseURL, database.Options{ApplicationName: "paidonce migrate", MaxConns: 1}); err != nil {
		return nil, err
	}
	if s.control, err = s.pool.Acquire(ctx); err != nil {
		return nil, err
	}
	if err = s.lock(ctx, r.lockWait); err != nil {
		return nil, err
	}
	if err = s.prepareSchema(ctx); err != nil {
		return nil, err
	}
	if err = s.connect(ctx, r); err != nil {
		return nil, err
	}
	return s, s.protectTable(ctx)
}

// lock asks again and again instead of waiting in the server, so that the wait
// ends with the context and leaves nothing queued behind.
func (s *session) lock(ctx context.Context, wait time.Duration) error {
	deadline := time.Now().Add(wait)
	for said := false; ; said = true {
		var got bool
		if err := s.control.QueryRow(ctx, "select pg_try_advisory_lock($1)", lockKey).Scan(&got); err != nil {
			return err
		}
		if got {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("another migration has been running for more than %s: wait for it to end, or look for it in pg_stat_activity under application_name 'paidonce migrate'", wait)
		}
		if !said {
			s.log.Info("waiting for another migration to end")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (s *session) prepareSchema(ctx context.Context) error {
	var hasSchema, hasTable bool
	err := s.control.QueryRow(ctx, `
		select to_regnamespace('paidonce') is not null,
			exists (select from pg_catalog.pg_class where relnamespace = to_regnamespace('paidonce') and relname = 'schema_migrations')`,
	).Scan(&hasSchema, &hasTable)
	if err != nil {
		return err
	}
	s.firstContact = !hasTable
	if !hasSchema { // "if not exists" would ask for the right to create it even where it is there
		_, err = s.control.Exec(ctx, "create schema paidonce")
	}
	return err
}

// connect sets up golang-migrate on a connection of its own.
func (s *session) connect(ctx context.Context, r runner) error {
	var current atomic.Pointer[pgx.Conn]
	s.db = stdlib.OpenDB(*s.pool.Config().ConnConfig, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		current.Store(conn)
		_, err := conn.Exec(ctx, fmt.Sprintf("set lock_timeout = %d; set statement_timeout = 0", r.lockWait.Milliseconds()))
		return err
	}))
	s.db.SetMaxOpenConns(1)

	driver, err := pgxdriver.WithInstance(s.db, &pgxdriver.Config{
		// With the slash, as golang-migrate's own command has it: the name is
		// part of its lock, and the two must exclude each other.
		DatabaseName:          "/" + s.pool.Config().ConnConfig.Database,
		SchemaName:            "paidonce",
		MigrationsTable:       table,
		MigrationsTableQuoted: true,
	})
	if err != nil {
		return err
	}
	files, err := iofs.New(r.source, ".")
	if err != nil {
		return err
	}
	if s.migrate, err = gomigrate.NewWithInstance("iofs", files, "pgx5", driver); err != nil {
		return err
	}
	// The server's lock_timeout ends the wait; this one would leave it running.
	s.migrate.LockTimeout = r.lockWait + time.Minute

	// golang-migrate knows no contexts: stop before the next file, and cancel
	// the one that is running.
	s.stopWatch = context.AfterFunc(ctx, func() {
		s.migrate.GracefulStop <- true
		if conn := current.Load(); conn != nil {
			cancelCtx, done := context.WithTimeout(context.Background(), 5*time.Second)
			defer done()
			_ = conn.PgConn().CancelRequest(cancelCtx)
		}
	})
	return nil
}

// protectTable closes golang-migrate's table like every other private one.
func (s *session) protectTable(ctx context.Context) error {
	var open bool
	err := s.control.QueryRow(ctx, `select not relrowsecurity from pg_catalog.pg_class where oid = $1::text::regclass`, table).Scan(&open)
	if err != nil || !open {
		return err
	}
	_, err = s.control.Exec(ctx, `
		alter table paidonce.schema_migrations enable row level security;
		drop policy if exists "only the owner reads schema migrations" on paidonce.schema_migrations;
		create policy "only the owner reads schema migrations" on paidonce.schema_migrations for all to public using (false);
		revoke all on paidonce.schema_migrations from public;
		do $$
		declare
			v_role text;
		begin
			-- Default privileges may have granted them something.
			for v_role in select rolname from pg_catalog.pg_roles where rolname in ('anon', 'authenticated', 'service_role', 'paidonce_edge', 'paidonce_worker') loop
				execute pg_catalog.format('revoke all on paidonce.schema_migrations from %I', v_role);
			end loop;
		end
		$$;`)
	return err
}

func (s *session) close() {
	if s.stopWatch != nil {
		s.stopWatch()
	}
	if s.migrate != nil {
		_, _ = s.migrate.Close() // closes db as well
	} else if s.db != nil {
		_ = s.db.Close()
	}
	if s.control != nil {
		s.control.Release()
	}
	if s.pool != nil {
		s.pool.Close() // ends the session that holds the lock
	}
}
