package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/paidonce/paidonce/go/internal/again"
)

// settleDelay is how long the first of a few results waits for company.
const settleDelay = 2 * time.Millisecond

const settleSQL = `select settle_outbox from paidonce.settle_outbox($1::jsonb)`

// report hands a result to the settler. A sender that comes back after Run has returned finds nobody.
func (r *run) report(res result) {
	select {
	case r.results <- res:
	case <-r.settled:
	}
}

// settle writes results down in batches until they have all been reported.
func (r *run) settle() {
	defer close(r.settled)
	batch := make([]result, 0, r.options.Batch)
	for {
		batch = batch[:0]
		select {
		case res := <-r.results:
			batch = r.gather(append(batch, res))
			r.settleAll(batch)
		case <-r.reported:
			if batch = r.gather(batch); len(batch) == 0 {
				return
			}
			r.settleAll(batch)
		}
	}
}

// gather adds what has been reported already, and waits a moment for more while sends are in flight.
func (r *run) gather(batch []result) []result {
	var late <-chan time.Time
	for len(batch) < cap(batch) {
		select {
		case res := <-r.results:
			batch = append(batch, res)
			continue
		default:
		}
		if len(batch) == 0 || r.idle() {
			return batch // nobody else is on the way
		}
		if late == nil {
			timer := time.NewTimer(settleDelay)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case res := <-r.results:
			batch = append(batch, res)
		case <-late:
			return batch
		}
	}
	return batch
}

// idle says that nothing is queued or in flight.
func (r *run) idle() bool {
	return !slices.ContainsFunc(r.lanes, func(l *lane) bool { return !l.pace.idle() })
}

// settleAll writes a batch down.
func (r *run) settleAll(batch []result) {
	r.write(batch, false)
	for _, l := range r.lanes {
		n := 0
		for i := range batch {
			if batch[i].lane == l {
				n++
			}
		}
		if n > 0 {
			l.pace.settled(n)
			signal(l.room)
		}
	}
}

// write keeps trying: what is in the batch has happened, and only the database does not know yet. It gives up
// when the process has to end; those rows are then sent again under their keys.
func (r *run) write(batch []result, plain bool) {
	for failures := 0; ; failures++ {
		err := r.settleOnce(batch, plain)
		switch {
		case err == nil:
			r.trouble.Over("settle")
			return
		case refused(err) && !plain: // a response that jsonb cannot hold: keep all of them as text
			r.write(batch, true)
			return
		case refused(err) && len(batch) > 1:
			for i := range batch {
				r.write(batch[i:i+1], true)
			}
			return
		case refused(err):
			r.log.Error("outbox: the outcome cannot be written down; the row is sent again when its lease is over",
				"id", batch[0].ID, "action", batch[0].Name, "outcome", batch[0].outcome, "error", err)
			return
		}
		r.trouble.Report("settle", err)
		if !again.Sleep(r.settling, again.Retry(failures)) {
			r.log.Error("outbox: outcomes could not be written down before the end; those rows are sent again under their keys", "rows", len(batch), "error", err)
			return
		}
	}
}

func (r *run) settleOnce(batch []result, plain bool) error {
	settlements := make([]settlement, len(batch))
	for i, res := range batch {
		settlements[i] = res.settlement(plain)
	}
	body, err := json.Marshal(settlements)
	if err != nil {
		return fmt.Errorf("encode outcomes: %w", err)
	}
	ctx, cancel := context.WithTimeout(r.settling, callTimeout)
	defer cancel()
	rows, err := r.options.DB.Query(ctx, settleSQL, string(body))
	if err != nil {
		return err
	}
	ids := make(map[int64]bool, len(batch))
	var id int64
	if _, err := pgx.ForEachRow(rows, []any{&id}, func() error { ids[id] = true; return nil }); err != nil {
		return err
	}
	for _, res := range batch {
		if !ids[res.ID] {
			res.outcome = outcomeLate
		}
		r.settledOne(res)
	}
	return nil
}

// settledOne counts a row that is written down and tells what somebody may have to know.
func (r *run) settledOne(res result) {
	r.options.Metrics.settled(res)
	level, text := slog.LevelDebug, "outbox: sent"
	switch res.outcome {
	case outcomeDead:
		level, text = slog.LevelError, "outbox: given up; `paidonce outbox retry` sends it again"
	case outcomeRelease:
		text = "outbox: given back untried"
	case outcomeLate:
		text = "outbox: too late, the row is another worker's or was asked for again"
	case outcomeRetry:
		return // told when it failed
	}
	if !r.log.Enabled(r.sending, level) {
		return
	}
	args := []any{"id", res.ID, "action", res.Name, "attempt", res.Attempt, "took", res.took.Round(time.Microsecond)}
	if res.err != nil {
		args = append(args, "error", shorten(res.err.Error()))
	}
	r.log.Log(r.sending, level, text, args...)
}

// refused says that the database understood the call and will never take it.
func refused(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && (strings.HasPrefix(pgErr.Code, "22") || strings.HasPrefix(pgErr.Code, "23") || pgErr.Code == "54001")
}
