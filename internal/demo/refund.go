package demo

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/paidonce/paidonce/internal/deliver"
)

const (
	ada     = "7d0c1f5e-2b9a-4c57-9a53-0f4b3a6d9e21" // the user whom the checkout names
	feature = "pro_monthly"
	bought  = 500 // credits, see app.sql
)

// deliverRefund shows what a signed-in user has, refunds half of the payment, and shows it again.
func (t *teller) deliverRefund(ctx context.Context) error {
	t.act("Half of the payment is refunded. Stripe tells it twice, by charge and by refund.")
	t.say("\n    what Ada reads, signed in, before")
	if err := t.reads(ctx, bought); err != nil {
		return err
	}
	// The invoice came in without its payment: since API 2025-03-31 an event of its own names it.
	episodes, err := refunds()
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
	t.say("\n    what Ada reads, signed in, after")
	if err := t.reads(ctx, bought/2); err != nil {
		return err
	}
	if err := t.ledger(ctx); err != nil {
		return err
	}
	t.verdict()
	return nil
}

// holding is what a user has.
type holding struct {
	access  bool
	credits int
	foreign int // rows of other users that can be read
}

// signedIn reads as the user, in the role that the API acts in: row level security decides what is seen.
func signedIn(ctx context.Context, db *stage, user string) (h holding, err error) {
	err = pgx.BeginFunc(ctx, db.owner, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select set_config('request.jwt.claims', json_build_object('sub', $1::text)::text, true)", user); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "set local role authenticated"); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `
			select paidonce.has_access($1),
				(select coalesce(sum(b.balance), 0)::int from paidonce.credit_balances as b),
				(select count(*)::int from paidonce.credit_entries as e where e.user_id <> $2)`, feature, user).
			Scan(&h.access, &h.credits, &h.foreign)
	})
	if err != nil {
		return h, fmt.Errorf("read as %s: %w", user, err)
	}
	return h, nil
}

// reads prints and checks what the user has, and that somebody else has nothing.
func (t *teller) reads(ctx context.Context, credits int) error {
	h, err := signedIn(ctx, t.stage, ada)
	if err != nil {
		return err
	}
	t.say("    access to %s: %s   credits: %d", feature, yesNo(h.access), h.credits)
	t.expect("Ada's access", true, h.access)
	t.expect("Ada's credits", credits, h.credits)
	stranger, err := signedIn(ctx, t.stage, "somebody else")
	if err != nil {
		return err
	}
	t.expect("what somebody else reads", holding{}, stranger)
	return nil
}

// ledger prints the entries and checks that they say what the facts imply, by the kit's own audit.
func (t *teller) ledger(ctx context.Context) error {
	rows, err := t.stage.owner.Query(ctx, `
		select e.kind, e.amount, v.event_type
		from paidonce.credit_entries as e join paidonce.events as v using (event_id) order by e.entry_id`)
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	type entry struct {
		Kind   string
		Amount int
		Cause  string
	}
	entries, err := pgx.CollectRows(rows, pgx.RowToStructByPos[entry])
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	t.say("\n    %-30s %-12s %s", "in the ledger", "credits", "because of")
	for _, e := range entries {
		t.say("    %-30s %-+12d %s", e.Kind, e.Amount, e.Cause)
	}
	t.expect("entries in the ledger", 2, len(entries))
	var findings int
	if err := t.stage.owner.QueryRow(ctx, "select count(*) from paidonce.audit").Scan(&findings); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	t.say("\n    paidonce.audit: %s", plural(findings, "finding"))
	t.expect("findings of the audit", 0, findings)
	return nil
}
