package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/internal/oplog/eventlog"
)

type eventsListCommand struct {
	eventsFlags
	Status   string `enum:",processed,ignored,parked,failed" default:"" help:"Only processed, ignored, parked or failed ones."`
	Type     string `placeholder:"TYPE" help:"Only of this type, such as invoice.paid or customer.subscription.*."`
	Customer string `placeholder:"cus_…" help:"Only of this customer."`
	Limit    int    `default:"20" placeholder:"N" help:"How many (${default})."`
}

func (c eventsListCommand) Validate() error {
	if c.Limit < 1 {
		return errors.New("--limit must be at least 1")
	}
	return nil
}

func (c eventsListCommand) Run(ctx context.Context, io streams) error {
	pool, err := c.open(ctx, database.Options{PoolerMode: c.PoolerMode, MaxConns: 1})
	if err != nil {
		return err
	}
	defer pool.Close()
	events, err := eventlog.List(ctx, pool, eventlog.Filter{Status: c.Status, Type: c.Type, Customer: c.Customer, Limit: c.Limit})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(io.out, events)
	}
	if len(events) == 0 {
		fmt.Fprintln(io.err, "no event")
		return nil
	}
	t := newTable(io.out, "", "RECEIVED", "EVENT", "TYPE", "STATUS", "DELIVERIES", "CUSTOMER", "WHY")
	for _, e := range events {
		why := ""
		if e.Error != nil {
			why = shorten(*e.Error, 60)
		}
		t.row(moment(&e.ReceivedAt), e.EventID, e.EventType, e.Status, fmt.Sprint(e.Deliveries), text(e.CustomerID), why)
	}
	return t.flush()
}
