package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/internal/oplog/outboxlog"
)

type outboxListCommand struct {
	outboxFlags
	Status string `enum:",pending,sent,dead" default:"" help:"Only pending, sent or dead ones."`
	Action string `placeholder:"ACTION" help:"Only of this action, such as email.welcome or email.*."`
	Limit  int    `default:"20" placeholder:"N" help:"How many (${default})."`
}

func (c outboxListCommand) Validate() error {
	if c.Limit < 1 {
		return errors.New("--limit must be at least 1")
	}
	return nil
}

func (c outboxListCommand) Run(ctx context.Context, io streams) error {
	pool, err := c.open(ctx, database.Options{PoolerMode: c.PoolerMode, MaxConns: 1})
	if err != nil {
		return err
	}
	defer pool.Close()
	rows, err := outboxlog.List(ctx, pool, outboxlog.Filter{Status: c.Status, Action: c.Action, Limit: c.Limit})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(io.out, rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(io.err, "no outbox row")
		return nil
	}
	t := newTable(io.out, "", "ID", "ACTION", "STATUS", "ATTEMPTS", "WRITTEN", "SENT OR NEXT", "KEY", "WHY")
	for _, r := range rows {
		why := ""
		if r.Error != nil {
			why = shorten(*r.Error, 60)
		}
		t.row(fmt.Sprint(r.ID), r.Action, r.Status, fmt.Sprint(r.Attempts), moment(&r.CreatedAt), when(r), r.IdempotencyKey, why)
	}
	return t.flush()
}

// when is the moment that matters of a row: a sent one's past, a pending one's future.
func when(r outboxlog.Row) string {
	switch {
	case r.Status == "pending":
		return moment(&r.NextAttemptAt)
	default:
		return moment(r.SentAt)
	}
}
