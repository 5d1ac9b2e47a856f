package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// EntryPoint is the one function that the webhook calls.
const EntryPoint = "public.handle_stripe_event(jsonb)"

// Querier is the part of a connection pool that the check needs.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// CheckEntryPoint makes the check behind /readyz: the database answers, the entry point is there, and this
// login may execute it. It calls nothing, so it needs no more rights than a delivery does.
//
// The two refusals carry the SQLSTATE that a delivery would meet (42883, 42501).
func CheckEntryPoint(db Querier) func(context.Context) error {
	return func(ctx context.Context) error {
		var executable *bool // null: no such function
		err := db.QueryRow(ctx, `select has_function_privilege(to_regprocedure($1::text), 'execute')`, EntryPoint).Scan(&executable)
		switch {
		case err != nil:
			return fmt.Errorf("ask the database: %w", err)
		case executable == nil:
			return &pgconn.PgError{Severity: "ERROR", Code: "42883", Message: "function " + EntryPoint + " does not exist"}
		case !*executable:
			return &pgconn.PgError{Severity: "ERROR", Code: "42501", Message: "this login may not execute " + EntryPoint}
		}
		return nil
	}
}

// reason is the kind of trouble, without names of hosts, users or databases.
func reason(err error) string {
	var pgErr *pgconn.PgError
	switch {
	case errors.As(err, &pgErr) && pgErr.Code == "42883":
		return "the schema is not installed"
	case errors.As(err, &pgErr) && pgErr.Code == "42501":
		return "the login may not execute the entry point"
	case errors.Is(err, context.DeadlineExceeded):
		return "the database does not answer in time"
	}
	return "the database cannot be reached"
}
