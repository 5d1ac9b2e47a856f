package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/internal/oplog/eventlog"
)

type eventsShowCommand struct {
	eventsFlags
	ID      string `arg:"" name:"id" help:"The event (evt_…)."`
	Payload bool   `help:"Also the event as Stripe sent it, with the personal data in it."`
}

func (c eventsShowCommand) Run(ctx context.Context, io streams) error {
	pool, err := c.open(ctx, database.Options{PoolerMode: c.PoolerMode, MaxConns: 1})
	if err != nil {
		return err
	}
	defer pool.Close()
	detail, err := eventlog.Show(ctx, pool, c.ID, c.Payload)
	if errors.Is(err, eventlog.ErrNotStored) {
		return advised{err: err, next: notStoredNext}
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(io.out, detail)
	}
	return printDetail(io.out, detail)
}

const notStoredNext = "check the id with `paidonce events list`; in Stripe, the event's page can send it again"

func printDetail(w io.Writer, d eventlog.Detail) error {
	e := d.Event
	livemode := "-"
	if e.Livemode != nil {
		livemode = fmt.Sprint(*e.Livemode)
	}
	for _, field := range [][2]string{
		{"event", e.EventID}, {"type", e.EventType}, {"status", e.Status}, {"error", text(e.Error)}, {"sqlstate", text(e.SQLState)},
		{"attempts", fmt.Sprint(e.Attempts)}, {"object", text(e.ObjectID)}, {"customer", text(e.CustomerID)}, {"account", text(e.Account)},
		{"livemode", livemode}, {"api version", text(e.APIVersion)}, {"created", moment(e.Created)},
		{"received", moment(&e.ReceivedAt)}, {"processed", moment(e.ProcessedAt)},
	} {
		fmt.Fprintf(w, "%-12s %s\n", field[0], field[1])
	}
	if e.Repaired > 0 {
		fmt.Fprintf(w, "%-12s %d characters that jsonb cannot hold were replaced\n", "repaired", e.Repaired)
	}
	if d.Context != nil {
		fmt.Fprintf(w, "context\n  %s\n", strings.ReplaceAll(*d.Context, "\n", "\n  "))
	}
	if err := printDeliveries(w, d.Deliveries); err != nil {
		return err
	}
	if err := printOutbox(w, d.Outbox); err != nil {
		return err
	}
	if d.Payload != nil {
		fmt.Fprintln(w, "\npayload")
		return printJSON(w, d.Payload)
	}
	return nil
}

func printDeliveries(w io.Writer, deliveries []eventlog.Delivery) error {
	fmt.Fprintf(w, "\ndeliveries: %d\n", len(deliveries))
	if len(deliveries) == 0 {
		return nil
	}
	t := newTable(w, "  ", "RECEIVED", "OUTCOME", "SOURCE", "TOOK", "WHY")
	for _, d := range deliveries {
		why := ""
		if d.Error != nil {
			why = shorten(*d.Error, 80)
		}
		t.row("  "+moment(&d.ReceivedAt), d.Outcome, d.Source, fmt.Sprintf("%.1f ms", d.DurationMS), why)
	}
	return t.flush()
}

func printOutbox(w io.Writer, outbox []eventlog.OutboxRow) error {
	fmt.Fprintf(w, "\noutbox rows: %d\n", len(outbox))
	if len(outbox) == 0 {
		return nil
	}
	t := newTable(w, "  ", "ID", "ACTION", "STATUS", "ATTEMPTS", "NEXT ATTEMPT", "SENT", "KEY", "ERROR")
	for _, o := range outbox {
		failure := ""
		if o.Error != nil {
			failure = shorten(*o.Error, 60)
		}
		t.row(fmt.Sprintf("  %d", o.ID), o.Action, o.Status, fmt.Sprint(o.Attempts), moment(&o.NextAttemptAt), moment(o.SentAt), o.IdempotencyKey, failure)
	}
	return t.flush()
}
