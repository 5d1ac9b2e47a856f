package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/senders"
	"github.com/paidonce/paidonce/internal/deliver"
	"github.com/paidonce/paidonce/internal/testing/fakehttp"
	"github.com/paidonce/paidonce/internal/testing/fakeresend"
	"github.com/paidonce/paidonce/internal/testing/fakestripe"
)

const (
	workerRole = "stripe_worker" // what the worker logs in as
	patience   = 20 * time.Second
	noKey      = "demo" // to the stand-ins, which only compare it
)

// world is whom the worker speaks to: stand-ins for Resend and Stripe on this machine, which count what would
// really have been done.
type world struct {
	resend *fakeresend.Server
	stripe *fakestripe.Server
}

// openWorld starts the stand-ins. Stripe's knows every object of the demo's events as it is at the end.
func openWorld() (_ *world, err error) {
	w := &world{}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.resend, err = fakeresend.Start(noKey); err != nil {
		return nil, err
	}
	if w.stripe, err = fakestripe.Start(noKey); err != nil {
		return nil, err
	}
	files, err := fs.Glob(eventFiles, "events/*.json")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		var event struct {
			Data struct{ Object fakestripe.Object }
		}
		body, err := eventFiles.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(body, &event); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		w.stripe.Put("", event.Data.Object)
	}
	return w, nil
}

func (w *world) close() error {
	var errs []error
	if w.resend != nil {
		errs = append(errs, w.resend.Close())
	}
	if w.stripe != nil {
		errs = append(errs, w.stripe.Close())
	}
	return errors.Join(errs...)
}

// sendAll delivers an event that is out of date, and then lets a worker send what is due, to a Resend whose first
// answer is lost.
func (t *teller) sendAll(ctx context.Context) (err error) {
	t.act("An event says what is no longer so. A worker sends what is due; Resend's first answer is lost.")
	w, err := openWorld()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	stale, err := staleUpdate()
	if err != nil {
		return err
	}
	t.answersHead()
	if err := t.deliver(ctx, stale, 1, []deliver.Count{{Status: 200, Outcome: "processed", Times: 1}}); err != nil {
		return err
	}
	t.say("")
	if err := t.subscribed(ctx, "before the worker", "unpaid", false); err != nil {
		return err
	}
	w.resend.Break(fakehttp.Fault{Drop: true})
	if err := t.work(ctx, w); err != nil {
		return err
	}
	if err := t.subscribed(ctx, "after it asked Stripe", "active", true); err != nil {
		return err
	}
	t.mailed(w)
	if err := t.sent(ctx); err != nil {
		return err
	}
	t.verdict()
	return nil
}

// staleUpdate is an event that claims that the subscription is unpaid. It was, for a moment.
func staleUpdate() (episode, error) {
	e, err := load("2_subscription.json", "", "", "stripe.refetch")
	if err != nil {
		return episode{}, err
	}
	var event struct {
		ID         string         `json:"id"`
		Object     string         `json:"object"`
		APIVersion string         `json:"api_version"`
		Created    int64          `json:"created"`
		Livemode   bool           `json:"livemode"`
		Type       string         `json:"type"`
		Data       map[string]any `json:"data"`
	}
	if err := json.Unmarshal(e.event.Body, &event); err != nil {
		return episode{}, fmt.Errorf("read event: %w", err)
	}
	event.ID, event.Type = "evt_1SdemoStaleUpdate000001", "customer.subscription.updated"
	subscription, _ := event.Data["object"].(map[string]any)
	subscription["status"] = "unpaid"
	event.Data["previous_attributes"] = map[string]any{"status": "active"}
	body, err := json.Marshal(event)
	if err != nil {
		return episode{}, fmt.Errorf("write event: %w", err)
	}
	events, err := deliver.Parse(body)
	if err != nil {
		return episode{}, err
	}
	e.event = events[0]
	return e, nil
}

// work runs a worker, the same as `paidonce worker`, until nothing that it has a sender for is left.
func (t *teller) work(ctx context.Context, w *world) (err error) {
	if _, err := t.stage.owner.Exec(ctx, "create role "+workerRole+" in role paidonce_worker"); err != nil {
		return fmt.Errorf("create the worker's login: %w", err)
	}
	if err := t.stage.cluster.AllowLogin(ctx, workerRole); err != nil {
		return err
	}
	url := t.stage.cluster.URL(workerRole, databaseName)
	pool, err := database.Open(ctx, url, database.Options{MaxConns: 8})
	if err != nil {
		return err
	}
	defer pool.Close()
	worker, err := outbox.New(outbox.Options{DB: pool, ListenURL: url, PollInterval: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if _, err := senders.Register(worker, pool, senders.Config{
		StripeKey: noKey, StripeBase: w.stripe.URL(), ResendKey: noKey, ResendBase: w.resend.URL(), Policy: outbox.Policy{BackoffBase: 200 * time.Millisecond},
	}); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(running) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		var left int
		if err := t.stage.owner.QueryRow(ctx, "select count(*) from paidonce.outbox where status = 'pending' and action not like 'http.%'").Scan(&left); err != nil {
			return fmt.Errorf("look at the outbox: %w", err)
		}
		if left == 0 {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil // what was not sent shows in the counts
}

// subscribed prints and checks what is kept of the subscription, and what it gives.
func (t *teller) subscribed(ctx context.Context, when, status string, access bool) error {
	var kept string
	if err := t.stage.owner.QueryRow(ctx, "select coalesce(min(status), 'none') from paidonce.subscriptions").Scan(&kept); err != nil {
		return fmt.Errorf("look at the subscription: %w", err)
	}
	h, err := signedIn(ctx, t.stage, ada)
	if err != nil {
		return err
	}
	t.say("    %-24s the subscription is %-8s access to %s: %s", when, kept, feature, yesNo(h.access))
	t.expect("subscription "+when, status, kept)
	t.expect("access "+when, access, h.access)
	return nil
}

// mailed prints and checks what Resend got and did.
func (t *teller) mailed(w *world) {
	requests, contents := w.resend.Requests("POST", "/emails"), map[string]bool{}
	for _, r := range requests {
		contents[r.Header.Get("Idempotency-Key")+r.Body] = true
	}
	emails := len(w.resend.Emails())
	t.say("    Resend                   %s, %s lost after the work: %s went out", plural(len(requests), "request"), plural(1, "answer"), plural(emails, "e-mail"))
	t.expect("requests to Resend", 3, len(requests))
	t.expect("e-mails that went out", 2, emails)
	t.expect("different keys or bodies", 2, len(contents))
}

// sent prints and checks what became of the outbox's rows.
func (t *teller) sent(ctx context.Context) error {
	rows, err := t.stage.owner.Query(ctx, "select split_part(action, '.', 1) || '.*', status, count(*)::int from paidonce.outbox group by 1, 2 order by 1, 2")
	if err != nil {
		return fmt.Errorf("look at the outbox: %w", err)
	}
	defer rows.Close()
	t.say("")
	for rows.Next() {
		var family, status string
		var n int
		if err := rows.Scan(&family, &status, &n); err != nil {
			return fmt.Errorf("look at the outbox: %w", err)
		}
		note := ""
		if family == "http.*" {
			note = "no receiver is configured: it waits"
		}
		t.say("    %-24s %-8s %-4d %s", family, status, n, note)
		want := "sent"
		if note != "" {
			want = "pending"
		}
		t.expect("outbox rows of "+family, want, status)
	}
	return rows.Err()
}
