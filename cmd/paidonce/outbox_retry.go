package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/internal/oplog/outboxlog"
)

type outboxRetryCommand struct {
	outboxFlags
	IDs    []int64 `arg:"" optional:"" name:"id" help:"The rows, by their numbers."`
	Dead   bool    `help:"All that were given up."`
	Action string  `placeholder:"ACTION" help:"With --dead: only of this action, such as email.welcome or email.*."`
	Force  bool    `help:"Also a row that was sent already. Whether its effect comes twice is up to the provider: most forget a key after a day."`
}

func (outboxRetryCommand) Help() string {
	return `Makes each row pending again; a worker then sends it under the same key and with the same payload. A row that was sent stays
untouched unless --force is given; one that a worker has at this moment always does.
Exit code 0 only if every row waits to be sent afterwards.`
}

func (c outboxRetryCommand) Validate() error {
	switch {
	case c.Dead && len(c.IDs) > 0:
		return errors.New("name rows or give --dead, not both")
	case !c.Dead && len(c.IDs) == 0:
		return errors.New("name the rows, or give --dead for all that were given up")
	case !c.Dead && c.Action != "":
		return errors.New("--action goes with --dead")
	}
	return nil
}

func (c outboxRetryCommand) Run(ctx context.Context, io streams) error {
	pool, err := c.open(ctx, database.Options{PoolerMode: c.PoolerMode, MaxConns: 1})
	if err != nil {
		return err
	}
	defer pool.Close()
	if c.Dead {
		if c.IDs, err = outboxlog.Dead(ctx, pool, c.Action); err != nil {
			return err
		}
		if len(c.IDs) == 0 && !c.JSON {
			fmt.Fprintln(io.err, "no row was given up")
		}
	}
	results, err := c.retry(ctx, pool, io)
	if err != nil {
		return err
	}
	if c.JSON {
		if err := printJSON(io.out, results); err != nil {
			return err
		}
	}
	done := 0
	for _, r := range results {
		if r.Done() {
			done++
		}
	}
	if done < len(results) {
		return advised{err: fmt.Errorf("%d of %d rows wait to be sent again", done, len(results)), next: "`paidonce outbox list` shows the rows; --force sends one again that was sent"}
	}
	return nil
}

// retry goes one after the other: an error that concerns the database ends it, a row that is refused does not.
func (c outboxRetryCommand) retry(ctx context.Context, pool *pgxpool.Pool, io streams) ([]outboxlog.Retried, error) {
	results := []outboxlog.Retried{}
	for _, id := range c.IDs {
		r, err := outboxlog.Retry(ctx, pool, id, c.Force)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
		if c.JSON {
			continue
		}
		switch r.Outcome {
		case "pending":
			fmt.Fprintf(io.out, "%d  pending: waits to be sent again\n", id)
		case "joined":
			fmt.Fprintf(io.out, "%d  joined: another row that asks for the same is pending\n", id)
		default:
			fmt.Fprintf(io.out, "%d  %s: %s\n", id, r.Outcome, r.Error)
		}
	}
	return results, nil
}
