package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// What the two kinds of processes call, and need to be allowed to.
const (
	EntryPoint    = "public.handle_stripe_event(jsonb)"
	ClaimFunction = "paidonce.claim_outbox(integer, interval, text[])"
)

// Querier is the part of a connection pool that the check needs.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// CheckEntryPoint makes the check behind the webhook's /readyz: a delivery could be processed.
func CheckEntryPoint(db Querier) func(context.Context) error { return checkFunction(db, EntryPoint) }

// CheckWorker makes the check behind a worker's /readyz: rows could be claimed.
func CheckWorker(db Querier) func(context.Context) error { return checkFunction(db, ClaimFunction) }

// checkFunction says that the database answers, the function is there, and this login may execute it. It calls
// nothing, so it needs no more rights than that.
//
// The two refusals carry the SQLSTATE that a call would meet (42883, 42501).
func checkFunction(db Querier, function string) func(context.Context) error {
	return func(ctx context.Context) error {
		var executable *bool // null: no such function
		err := db.QueryRow(ctx, `
			select has_schema_privilege(pronamespace, 'usage') and has_function_privilege(oid, 'execute')
			from (select to_regprocedure($1::text) as f) as asked left join pg_proc on oid = f`, function).Scan(&executable)
		switch {
		case err != nil:
			return fmt.Errorf("ask the database: %w", err)
		case executable == nil:
			return &pgconn.PgError{Severity: "ERROR", Code: "42883", Message: "function " + function + " does not exist"}
		case !*executable:
			return &pgconn.PgError{Severity: "ERROR", Code: "42501", Message: "this login may not execute " + function}
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
		return "the login may not execute the function that this needs"
	case errors.Is(err, context.DeadlineExceeded):
		return "the database does not answer in time"
	}
	return "the database cannot be reached"
}
