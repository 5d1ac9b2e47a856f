package demo

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paidonce/paidonce/internal/deliver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	t.Parallel()

	t.Run("given a machine with postgres when run then all is true and nothing is left behind", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		require.NoError(t, Run(t.Context(), &out), out.String())
		for _, line := range []string{
			"superuser: no",
			"may execute 1 function and touch 0 tables",
			"5 × checkout.session.completed       1 × 200 processed, 4 × 200 duplicate",
			"invoice.paid                   1 processed  5           1 receipt              1 email.receipt",
			"invoice.finalized              1 failed     1           0 booking              0 http.bookkeeping",
			"invoice.finalized              1 processed  2           1 booking              1 http.bookkeeping",
			"access to pro_monthly: yes   credits: 500",
			"access to pro_monthly: yes   credits: 250",
			"grant                          +500         invoice.paid",
			"reversal                       -250         charge.refunded",
			"before the worker        the subscription is unpaid   access to pro_monthly: no",
			"after it asked Stripe    the subscription is active   access to pro_monthly: yes",
			"3 requests, 1 answer lost after the work: 2 e-mails went out",
			"All of it is true",
		} {
			require.Contains(t, out.String(), line)
		}
		require.NotContains(t, out.String(), "✗")
	})

	t.Run("given it is cancelled at once when run then it fails and says so", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, Run(ctx, &bytes.Buffer{}), context.Canceled)
	})
}

// TestTables plays the story once and then spoils the tables, one way after the other: each has to be noticed.
func TestTables(t *testing.T) {
	t.Parallel()
	s, err := build(t.Context(), "127.0.0.1:0", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	folder := s.cluster.Dir()
	t.Cleanup(func() {
		require.NoError(t, s.close())
		require.NoError(t, s.close(), "closing again does nothing")
		require.NoDirExists(t, folder)
	})
	var out bytes.Buffer
	told := &teller{out: &out, stage: s}
	require.NoError(t, told.tell(t.Context(), 0))
	require.Empty(t, told.wrong)
	episodes, err := purchases()
	require.NoError(t, err)
	invoice := episodes[2]

	// wrong inspects the invoice's rows as the story does, and returns what it found fault with.
	wrong := func(t *testing.T) []string {
		judge := &teller{out: &bytes.Buffer{}, stage: s}
		require.NoError(t, judge.inspect(context.WithoutCancel(t.Context()), invoice,
			rows{events: 1, status: "processed", deliveries: atOnce, effects: 1, outbox: 1}))
		return judge.wrong
	}
	for name, tc := range map[string]struct{ spoil, mend, want string }{
		"given a second effect when inspected then it is found": {
			`insert into app.receipts (invoice_id, amount, currency) values ('in_other', 1, 'eur')`,
			`delete from app.receipts where invoice_id = 'in_other'`,
			"invoice.paid, effects: expected 1, found 2"},
		"given a lost effect when inspected then it is found": {
			`alter table app.receipts rename to hidden; create table app.receipts ()`,
			`drop table app.receipts; alter table app.hidden rename to receipts`,
			"invoice.paid, effects: expected 1, found 0"},
		"given a lost delivery row when inspected then it is found": {
			`update paidonce.deliveries set event_id = 'x' || event_id where (event_id, delivery_id) = (select event_id, min(delivery_id) from paidonce.deliveries where event_id = 'evt_1SdemoInvoicePaid0000001' group by 1)`,
			`update paidonce.deliveries set event_id = substr(event_id, 2) where event_id like 'xevt%'`,
			"invoice.paid, deliveries: expected 5, found 4"},
		"given a second outbox row when inspected then it is found": {
			`insert into paidonce.outbox (event_id, action, payload, idempotency_key) values ('evt_1SdemoInvoicePaid0000001', 'email.receipt', '{}', 'again')`,
			`delete from paidonce.outbox where idempotency_key = 'again'`,
			"invoice.paid, outbox rows: expected 1, found 2"},
		"given the same thing asked for twice by the kit when inspected then it is found": {
			`insert into paidonce.outbox (event_id, action, payload, idempotency_key)
				select 'evt_1SdemoInvoicePaid0000001', 'stripe.refetch', '{"object": "invoice"}', k from unnest(array['again', 'and again']) as k`,
			`delete from paidonce.outbox where idempotency_key like '%again'`,
			"invoice.paid, outbox rows said twice: expected 0, found 1"},
		"given a status that is not processed when inspected then it is found": {
			`update paidonce.events set status = 'ignored', error = 'x', processed_at = null where event_id = 'evt_1SdemoInvoicePaid0000001'`,
			`update paidonce.events set status = 'processed', error = null, processed_at = now() where event_id = 'evt_1SdemoInvoicePaid0000001'`,
			"invoice.paid, status: expected processed, found ignored"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.owner.Exec(t.Context(), tc.spoil)
			require.NoError(t, err)
			require.Equal(t, []string{tc.want}, wrong(t))
			_, err = s.owner.Exec(t.Context(), tc.mend)
			require.NoError(t, err)
			require.Empty(t, wrong(t))
		})
	}

	for name, tc := range map[string]struct {
		spoil, mend string
		want        []string
	}{
		"given a reversal lost when Ada reads then credits, ledger and audit show it": {
			`create table app.kept as select * from paidonce.credit_entries where kind = 'reversal'; delete from paidonce.credit_entries where kind = 'reversal'`,
			`insert into paidonce.credit_entries overriding system value select * from app.kept; drop table app.kept`,
			[]string{"Ada's credits: expected 250, found 500", "entries in the ledger: expected 2, found 1", "findings of the audit: expected 0, found 1"}},
		"given no status that grants when Ada reads then her access shows it": {
			`update paidonce.settings set access_statuses = '{}'`,
			`update paidonce.settings set access_statuses = '{active}'`,
			[]string{"Ada's access: expected true, found false"}},
		"given a policy that opens the ledger when somebody else reads then it shows": {
			`create policy "open" on paidonce.credit_entries for select to authenticated using (true)`,
			`drop policy "open" on paidonce.credit_entries`,
			[]string{"what somebody else reads: expected {false 0 0}, found {false 250 2}"}},
	} {
		t.Run(name, func(t *testing.T) {
			read := func() []string {
				judge := &teller{out: &bytes.Buffer{}, stage: s}
				require.NoError(t, judge.reads(t.Context(), bought/2))
				require.NoError(t, judge.ledger(t.Context()))
				return judge.wrong
			}
			_, err := s.owner.Exec(t.Context(), tc.spoil)
			require.NoError(t, err)
			require.Equal(t, tc.want, read())
			_, err = s.owner.Exec(t.Context(), tc.mend)
			require.NoError(t, err)
			require.Empty(t, read())
		})
	}

	t.Run("given a table opened to the handler when its rights are counted then it shows", func(t *testing.T) {
		_, tables, err := rights(t.Context(), s.owner)
		require.NoError(t, err)
		require.Zero(t, tables)
		_, err = s.owner.Exec(t.Context(), `grant insert on app.receipts to stripe_handler; grant execute on function app.receipt(jsonb) to public`)
		require.NoError(t, err)
		functions, tables, err := rights(t.Context(), s.owner)
		require.NoError(t, err)
		require.Equal(t, []int{2, 1}, []int{functions, tables})
	})

	t.Run("given one row more when all rows are counted then the total is one more", func(t *testing.T) {
		before, err := countAll(t.Context(), s.owner)
		require.NoError(t, err)
		_, err = s.owner.Exec(t.Context(), `insert into paidonce.link_conflicts (customer_id, user_id) values ('cus_x', 'u')`)
		require.NoError(t, err)
		after, err := countAll(t.Context(), s.owner)
		require.NoError(t, err)
		require.Equal(t, before+1, after)
	})

	t.Run("given answers that are not the expected ones when delivered then they are found", func(t *testing.T) {
		judge := &teller{out: &bytes.Buffer{}, stage: s}
		require.NoError(t, judge.deliver(t.Context(), invoice, 2, []deliver.Count{{Status: 200, Outcome: "processed", Times: 2}}))
		require.Equal(t, []string{"answers to invoice.paid: expected 2 × 200 processed, found 2 × 200 duplicate"}, judge.wrong)
	})
}

func TestTeller(t *testing.T) {
	t.Parallel()

	t.Run("given one claim that is not true when summed up then it is named and nothing is called true", func(t *testing.T) {
		t.Parallel()
		var out strings.Builder
		told := &teller{out: &out}
		told.expect("rows", 1, 1)
		told.verdict()
		told.expect("rows", 1, 2)
		told.verdict()
		told.expect("rows", 3, 3)
		told.verdict()
		told.summary(0)
		require.Equal(t, []string{"rows: expected 1, found 2"}, told.wrong)
		require.Equal(t, 2, strings.Count(out.String(), "✓ as it must be (1 check)"))
		require.Equal(t, 2, strings.Count(out.String(), "✗ rows: expected 1, found 2"))
		require.Contains(t, out.String(), "Not true, 1 of 3 checks")
		require.NotContains(t, out.String(), "All of it is true")
	})
}

func TestEvents(t *testing.T) {
	t.Parallel()

	t.Run("given the embedded events when loaded then ids differ and each is one event", func(t *testing.T) {
		t.Parallel()
		files, err := eventFiles.ReadDir("events")
		require.NoError(t, err)
		seen := map[string]bool{}
		for _, f := range files {
			e, err := load(f.Name(), "", "", "")
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(e.event.ID, "evt_"), f.Name())
			require.NotEmpty(t, e.event.Type)
			require.False(t, seen[e.event.ID])
			seen[e.event.ID] = true
		}
		require.Len(t, seen, 7)
	})
}

func TestDev(t *testing.T) {
	t.Parallel()

	t.Run("given it runs when its context ends then it goes without an error and its event files too", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		out := &stopper{when: "events list", stop: cancel}
		require.NoError(t, Dev(ctx, out, DevOptions{Addr: "127.0.0.1:0", Program: "paidonce", Log: &bytes.Buffer{}}))
		text := out.String()
		require.Contains(t, text, "All of it is true")
		require.Regexp(t, `paidonce send --fresh-id --times 5 --parallel 5 --url http://127\.0\.0\.1:\d+/webhooks/stripe --secret whsec_\w+ '[^']+1_checkout\.json'`, text)
		require.Regexp(t, `psql 'postgres://postgres:[^']+'`, text)
		_, file, _ := strings.Cut(text, " '/")
		file, _, _ = strings.Cut(file, "'")
		_, err := os.Stat("/" + file)
		require.ErrorIs(t, err, os.ErrNotExist)
	})
}

// stopper ends a context as soon as a certain text has been written.
type stopper struct {
	bytes.Buffer
	when string
	stop func()
}

func (s *stopper) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if strings.Contains(s.String(), s.when) {
		s.stop()
	}
	return n, err
}
