package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/internal/oplog/eventlog"
)

type eventsReplayCommand struct {
	eventsFlags
	IDs   []string `arg:"" name:"id" help:"The events (evt_…)."`
	Force bool     `help:"Also run an event again that is processed already."`
}

func (eventsReplayCommand) Help() string {
	return `Runs each event from its stored payload through the same function as a delivery. Signatures are not looked at, so an old
event is no problem. An event that is processed already stays untouched unless --force is given.
Exit code 0 only if every event's effects are in the database afterwards.`
}

func (c eventsReplayCommand) Run(ctx context.Context, io streams) error {
	pool, err := c.open(ctx, database.Options{PoolerMode: c.PoolerMode, MaxConns: 1})
	if err != nil {
		return err
	}
	defer pool.Close()
	// One after the other, in the order asked for. The first error ends it, since it concerns the database
	// and not the event; an unknown id is only counted.
	results := []eventlog.Replayed{}
	missing := 0
	for _, id := range c.IDs {
		result, err := eventlog.Replay(ctx, pool, id, c.Force)
		switch {
		case errors.Is(err, eventlog.ErrNotStored):
			missing++
			result = eventlog.Replayed{EventID: id, Outcome: "unknown", Error: eventlog.ErrNotStored.Error()}
		case err != nil:
			return err
		}
		results = append(results, result)
		if !c.JSON {
			fmt.Fprintln(io.out, sentence(result))
		}
	}
	if c.JSON {
		if err := printJSON(io.out, results); err != nil {
			return err
		}
	}
	return judgeReplay(results, missing)
}

func sentence(r eventlog.Replayed) string {
	switch r.Outcome {
	case "processed":
		return fmt.Sprintf("%s  processed: applied now, attempt %d", r.EventID, r.Attempt)
	case "duplicate":
		return fmt.Sprintf("%s  duplicate: already applied, nothing done (--force runs it again)", r.EventID)
	case "ignored":
		return fmt.Sprintf("%s  ignored: still no handler for %s, or not for this installation", r.EventID, r.EventType)
	case "parked":
		return fmt.Sprintf("%s  parked: it still waits for its customer to be linked to a user", r.EventID)
	case "failed":
		return fmt.Sprintf("%s  failed: %s (%s)", r.EventID, r.Error, r.SQLState)
	}
	return fmt.Sprintf("%s  %s: %s", r.EventID, r.Outcome, r.Error)
}

func judgeReplay(results []eventlog.Replayed, missing int) error {
	applied := 0
	for _, r := range results {
		if r.Applied() {
			applied++
		}
	}
	switch {
	case applied == len(results):
		return nil
	case missing > 0:
		return advised{err: fmt.Errorf("%d of %d events are applied, %d are not stored", applied, len(results), missing), next: notStoredNext}
	}
	return advised{
		err:  fmt.Errorf("%d of %d events are applied", applied, len(results)),
		next: "`paidonce events show ID` says where it failed; mend that and replay again",
	}
}
