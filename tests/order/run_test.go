package order_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// inTransaction runs work in a transaction that is rolled back.
func inTransaction(ctx context.Context, pool *pgxpool.Pool, work func(pgx.Tx) error) error {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	return errors.Join(work(tx), tx.Rollback(ctx))
}

// untilDone delivers one event, again when Postgres asks for it.
func untilDone(ctx context.Context, pool *pgxpool.Pool, event string) error {
	for {
		var outcome string
		err := pool.QueryRow(ctx, "select public.handle_stripe_event($1::jsonb) ->> 'outcome'", event).Scan(&outcome)
		var failure *pgconn.PgError
		if errors.As(err, &failure) && (failure.Code == pgerrcode.DeadlockDetected || failure.Code == pgerrcode.LockNotAvailable) {
			continue
		}
		if err == nil && outcome == "failed" {
			return fmt.Errorf("an effect failed: %s", event)
		}
		return err
	}
}

// firstDifference shows the first line in which two states differ, with what stands around it.
func firstDifference(want, got string) string {
	wants, gots := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(wants), len(gots)) {
		if wants[i] != gots[i] {
			around := strings.Join(gots[max(0, i-12):i], "\n")
			return fmt.Sprintf("…%s\nwant %s\ngot  %s", around, wants[i], gots[i])
		}
	}
	return fmt.Sprintf("want %d lines, got %d", len(wants), len(gots))
}
