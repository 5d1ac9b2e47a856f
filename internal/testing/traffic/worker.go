package traffic

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Querier is a connection or a pool.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// HasWorker says whether this version of the schema leaves work to a worker's paidonce.run_due.
func HasWorker(ctx context.Context, db Querier) (yes bool, err error) {
	err = db.QueryRow(ctx, "select to_regprocedure('paidonce.run_due(integer)') is not null").Scan(&yes)
	return yes, err
}

// runDue does one piece of work that is due, if there is one. What the function returns is read leniently:
// nothing, zero and false all mean that there was none.
func runDue(ctx context.Context, db Querier) (bool, error) {
	var done *string
	err := db.QueryRow(ctx, "select paidonce.run_due(1)::text").Scan(&done)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil && done != nil && *done != "" && *done != "0" && *done != "f" && *done != "false", err
}

// Work does what is due, as the product's worker does, until stop is closed; an error of one call does not end it.
// It returns how many calls did something and how many failed.
func Work(ctx context.Context, db Querier, stop <-chan struct{}) (done, failed int) {
	for {
		select {
		case <-stop:
			return done, failed
		case <-ctx.Done():
			return done, failed
		default:
		}
		some, err := runDue(ctx, db)
		switch {
		case err != nil:
			failed++
			time.Sleep(20 * time.Millisecond)
		case some:
			done++
		default:
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// Drain does what is due until nothing is left.
func Drain(ctx context.Context, db Querier) (done int, err error) {
	for {
		some, err := runDue(ctx, db)
		if err != nil || !some {
			return done, err
		}
		done++
	}
}
