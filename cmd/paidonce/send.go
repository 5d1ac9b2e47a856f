package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/paidonce/paidonce/internal/deliver"
)

type sendCommand struct {
	File     string   `arg:"" help:"Events to deliver; - reads standard input."`
	URL      []string `sep:"none" default:"http://127.0.0.1:8080/webhooks/stripe" help:"The endpoint; given several times, the deliveries take turns (${default})."`
	Secret   string   `env:"STRIPE_WEBHOOK_SECRET" placeholder:"whsec_…" help:"Signs with it; of several, with the first."`
	Times    int      `default:"1" placeholder:"N" help:"How often to deliver each event (${default})."`
	Parallel int      `default:"1" placeholder:"N" help:"How many of those at the same time (${default})."`
	FreshID  bool     `help:"Give every event a new id first, so that it is a first delivery again. All --times deliveries share it."`
	Verbose  bool     `short:"v" help:"A line per delivery."`
	JSON     bool     `help:"The counts as JSON."`
}

func (sendCommand) Help() string {
	return `FILE holds one event, a JSON array of events, or one event a line; they are delivered in this order, each signed afresh.
A file with one event is sent byte for byte as it is, a final newline included; from an array or from lines, each event's
own bytes. Nothing is checked before: what is no event is signed and sent too, and the endpoint is the judge.
Exit code 0 only if every single delivery was answered with 2xx.`
}

func (c sendCommand) Validate() error {
	for _, address := range c.URL {
		u, err := url.Parse(address)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return errors.New("--url must be a full address, such as http://127.0.0.1:8080/webhooks/stripe")
		}
	}
	if c.Times < 1 || c.Parallel < 1 {
		return errors.New("--times and --parallel must be at least 1")
	}
	return nil
}

func (c sendCommand) Run(ctx context.Context, io streams) error {
	secret, _, _ := strings.Cut(c.Secret, ",")
	secret = strings.TrimSpace(secret)
	if secret == "" {
		return misuse{
			err:  errors.New("nothing to sign with: STRIPE_WEBHOOK_SECRET is empty"),
			next: "set STRIPE_WEBHOOK_SECRET to the secret that `paidonce serve` runs with, or give --secret",
		}
	}
	events, err := c.read()
	if err != nil {
		return misuse{err: fmt.Errorf("%s: %w", c.File, err), next: "name a file with one event, an array of events, or one event a line"}
	}
	options := deliver.Options{URLs: c.URL, Secret: secret, Times: c.Times, Parallel: c.Parallel}
	if c.Verbose {
		options.OnResult = func(r deliver.Result) { fmt.Fprintln(io.err, line(r)) }
	}
	summaries, err := deliver.Run(ctx, events, options)
	if printErr := c.print(io.out, summaries); printErr != nil {
		return printErr
	}
	if err != nil {
		return err
	}
	return judge(summaries)
}

func (c sendCommand) read() ([]deliver.Event, error) {
	var content []byte
	var err error
	if c.File == "-" {
		content, err = io.ReadAll(os.Stdin)
	} else {
		content, err = os.ReadFile(c.File)
	}
	if err != nil {
		return nil, err
	}
	events, err := deliver.Parse(content)
	if err != nil || !c.FreshID {
		return events, err
	}
	for i := range events {
		if events[i], err = deliver.WithFreshID(events[i]); err != nil {
			return nil, fmt.Errorf("event %d: %w", i+1, err)
		}
	}
	return events, nil
}

func (c sendCommand) print(w io.Writer, summaries []deliver.Summary) error {
	if c.JSON {
		return printJSON(w, map[string]any{"urls": c.URL, "events": summaries})
	}
	for _, s := range summaries {
		fmt.Fprintf(w, "%s  %s\n", name(s.EventID), s.EventType)
		for _, a := range s.Answers {
			fmt.Fprintf(w, "  %4d × %s\n", a.Times, answer(a.Status, a.Outcome))
		}
	}
	return nil
}

// judge fails unless every delivery arrived.
func judge(summaries []deliver.Summary) error {
	var total, refused int
	var reason error
	for _, s := range summaries {
		total += s.Delivered + s.Refused
		refused += s.Refused
		if s.Err != nil {
			reason = s.Err
		}
	}
	switch {
	case refused == 0:
		return nil
	case reason != nil:
		return advised{
			err:  fmt.Errorf("%d of %d deliveries failed: %w", refused, total, reason),
			next: "start the handler with `paidonce serve`, or correct --url",
		}
	}
	return advised{
		err:  fmt.Errorf("%d of %d deliveries were not accepted", refused, total),
		next: "the answers above say why; `paidonce events show ID` says more about those that failed",
	}
}

func line(r deliver.Result) string {
	outcome := r.Outcome
	if r.Err != nil {
		outcome = r.Err.Error()
	}
	return fmt.Sprintf("  %s #%d  %s  %s", name(r.Event.ID), r.Number, answer(r.Status, outcome), r.Took.Round(100*time.Microsecond))
}

func answer(status int, outcome string) string {
	if status == 0 {
		return outcome
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, outcome))
}

func name(eventID string) string {
	if eventID == "" {
		return "(no event id)"
	}
	return eventID
}
