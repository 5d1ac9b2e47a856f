package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/paidonce/paidonce/go/database"
)

// databaseFlags are shared by every command that speaks to Postgres.
type databaseFlags struct {
	DatabaseURL string `name:"database-url" env:"DATABASE_URL" placeholder:"URL" help:"Postgres, as postgres://user:password@host:5432/database."`
}

const setDatabaseURL = "set DATABASE_URL, such as postgres://postgres:PASSWORD@127.0.0.1:5432/postgres " +
	"(Supabase: Project settings, Database, Connection string)"

func (f databaseFlags) require() error {
	if f.DatabaseURL == "" {
		return misuse{err: errors.New("no database is named: DATABASE_URL is empty"), next: setDatabaseURL}
	}
	return nil
}

// open makes a pool without connecting yet. A URL that cannot be used is the caller's error.
func (f databaseFlags) open(ctx context.Context, o database.Options) (*pgxpool.Pool, error) {
	if err := f.require(); err != nil {
		return nil, err
	}
	pool, err := database.Open(ctx, f.DatabaseURL, o)
	if err != nil {
		return nil, misuse{err: err, next: setDatabaseURL}
	}
	return pool, nil
}
