package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/paidonce/paidonce/internal/deliver"
	"github.com/paidonce/paidonce/internal/deliver/stripesign"
)

// atOnce is how often each event is delivered at the same time.
const atOnce = 5

// tell plays the acts in order. What is not as it must be is collected; only what keeps the story from going
// on is an error.
func (t *teller) tell(ctx context.Context, setUp time.Duration) error {
	for _, act := range []func(context.Context) error{
		func(ctx context.Context) error { return t.introduce(ctx, setUp) },
		t.deliverTogether, t.deliverRefund, t.deliverTampered, t.deliverFlaky, t.sendAll,
	} {
		if err := act(ctx); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (t *teller) introduce(ctx context.Context, setUp time.Duration) error {
	var version string
	var superuser bool
	err := t.stage.owner.QueryRow(ctx, `
		select split_part(current_setting('server_version'), ' ', 1), rolsuper
		from pg_roles where oid = (select relowner from pg_class where oid = 'paidonce.events'::regclass)`).Scan(&version, &superuser)
	if err != nil {
		return fmt.Errorf("look at the database: %w", err)
	}
	functions, tables, err := rights(ctx, t.stage.owner)
	if err != nil {
		return err
	}
	t.say("paidonce: one Stripe event, one business effect\n")
	t.say("  Postgres   %s, throwaway, set up like a Supabase project in %s", version, rounded(setUp))
	t.say("  Schema     migrated by role %s, superuser: %s", ownerRole, yesNo(superuser))
	t.say("  Handler    %s", t.stage.server.URL())
	t.say("             logged in as %s: may execute %s and touch %s", handlerRole, plural(functions, "function"), plural(tables, "table"))
	t.expect("the schema's owner is a superuser", false, superuser)
	t.expect("functions that the handler's login may execute", 1, functions)
	t.expect("tables that the handler's login may touch", 0, tables)
	t.verdict()
	return nil
}

// deliverTogether sends every event of a purchase several times at the same moment.
func (t *teller) deliverTogether(ctx context.Context) error {
	t.act("Ada subscribes. Stripe sends every event five times at once.")
	episodes, err := purchases()
	if err != nil {
		return err
	}
	t.answersHead()
	for _, e := range episodes {
		if err := t.deliver(ctx, e, atOnce, []deliver.Count{
			{Status: 200, Outcome: "processed", Times: 1}, {Status: 200, Outcome: "duplicate", Times: atOnce - 1},
		}); err != nil {
			return err
		}
	}
	t.tablesHead()
	for _, e := range episodes {
		if err := t.inspect(ctx, e, rows{events: 1, status: "processed", deliveries: atOnce, effects: 1, outbox: 1}); err != nil {
			return err
		}
	}
	t.verdict()
	return nil
}

// deliverTampered changes the amount in a body after it was signed. Its id is new, so that nothing but the
// signature can stop it.
func (t *teller) deliverTampered(ctx context.Context) error {
	t.act("Somebody changes the amount in a signed body.")
	episodes, err := purchases()
	if err != nil {
		return err
	}
	e := episodes[len(episodes)-1]
	if e.event, err = deliver.WithFreshID(e.event); err != nil {
		return err
	}
	before, err := countAll(ctx, t.stage.owner)
	if err != nil {
		return err
	}
	signature := stripesign.Sign(e.event.Body, t.stage.secret, time.Now())
	tampered := bytes.ReplaceAll(e.event.Body, []byte("2900"), []byte("290000"))
	status, err := post(ctx, t.stage.server.URL(), tampered, signature)
	if err != nil {
		return err
	}
	t.answersHead()
	t.answered(1, e.event.Type, fmt.Sprintf("%d", status))
	t.expect("answer to the tampered event", http.StatusBadRequest, status)

	after, err := countAll(ctx, t.stage.owner)
	if err != nil {
		return err
	}
	t.say("\n    all tables together: %s before, %d after", plural(before, "row"), after)
	t.expect("rows in all tables after the tampered event", before, after)
	t.verdict()
	return nil
}

// deliverFlaky sends an event whose effect raises, repairs the cause, and sends it again.
func (t *teller) deliverFlaky(ctx context.Context) error {
	t.act("An effect fails, its cause is repaired, Stripe tries again.")
	e, err := booking()
	if err != nil {
		return err
	}
	t.answersHead()
	if err := t.deliver(ctx, e, 1, []deliver.Count{{Status: 500, Outcome: "failed", Times: 1}}); err != nil {
		return err
	}
	t.tablesHead()
	if err := t.inspect(ctx, e, rows{events: 1, status: "failed", deliveries: 1}); err != nil {
		return err
	}
	var reason string
	if err := t.stage.owner.QueryRow(ctx, `select coalesce(error, '') from paidonce.events where event_id = $1`, e.event.ID).Scan(&reason); err != nil {
		return fmt.Errorf("read the reason: %w", err)
	}
	t.say("    kept as its reason: %q", reason)
	t.expect("the reason kept", "the bookkeeping service is down", reason)

	if _, err := t.stage.owner.Exec(ctx, `update app.switches set down = false where name = 'bookkeeping'`); err != nil {
		return fmt.Errorf("repair the bookkeeping: %w", err)
	}
	t.say("\n    the service is back")
	t.answersHead()
	if err := t.deliver(ctx, e, 1, []deliver.Count{{Status: 200, Outcome: "processed", Times: 1}}); err != nil {
		return err
	}
	t.tablesHead()
	if err := t.inspect(ctx, e, rows{events: 1, status: "processed", deliveries: 2, effects: 1, outbox: 1}); err != nil {
		return err
	}
	t.verdict()
	return nil
}

// deliver sends an event and checks how it was answered.
func (t *teller) deliver(ctx context.Context, e episode, times int, want []deliver.Count) error {
	summaries, err := deliver.Run(ctx, []deliver.Event{e.event}, deliver.Options{
		URLs: []string{t.stage.server.URL()}, Secret: t.stage.secret, Times: times, Parallel: times,
	})
	if err != nil {
		return err
	}
	if err := summaries[0].Err; err != nil {
		return fmt.Errorf("deliver %s: %w", e.event.ID, err)
	}
	t.answered(times, e.event.Type, counts(summaries[0].Answers))
	t.expect("answers to "+e.event.Type, counts(want), counts(summaries[0].Answers))
	return nil
}

// inspect reads what the tables hold of an event, prints it and checks it.
func (t *teller) inspect(ctx context.Context, e episode, want rows) error {
	found, err := readRows(ctx, t.stage.owner, e)
	if err != nil {
		return err
	}
	t.holds(e, found)
	t.check(compare(e.event.Type, want, found))
	return nil
}

// post delivers a body with a signature that was made elsewhere.
func post(ctx context.Context, url string, body []byte, signature string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("deliver: %w", err)
	}
	request.Header.Set(stripesign.Header, signature)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("deliver: %w", err)
	}
	return response.StatusCode, errors.Join(response.Body.Close())
}
