package main

import (
	"context"
	"fmt"
	"time"
)

// claim measures a claim of a few rows beside many of other actions that wait for a worker that never comes.
func (m *outboxMeasure) claim(ctx context.Context) error {
	const claims = 100
	lists := []string{"{noop.test}", "{noop.*}", "{noop.*,!noop.other}", "{*,!foreign.*}", "{idle.*}"}
	foreign := []int{0, m.foreign}
	times := map[string][]time.Duration{}
	for _, n := range foreign {
		if err := m.queue(ctx, claims*10*len(lists)); err != nil {
			return err
		}
		for _, sql := range []string{
			fmt.Sprintf(`insert into paidonce.outbox (action, payload, idempotency_key, next_attempt_at)
				select 'foreign.' || n %% 5, '{}', 'foreign:' || n, now() - interval '1 day' from generate_series(1, %d) as n`, n),
			"vacuum analyze paidonce.outbox",
		} {
			if _, err := m.owner.Exec(ctx, sql); err != nil {
				return err
			}
		}
		took := map[string][]time.Duration{}
		for range claims {
			for _, list := range lists { // in turn, so that what else the machine does hits all alike
				began := time.Now()
				if _, err := m.owner.Exec(ctx, "select * from paidonce.claim_outbox(10, '1 minute', $1::text[])", list); err != nil {
					return err
				}
				took[list] = append(took[list], time.Since(began))
				// Over at once, as by a worker: a claim walks past rows that are leased.
				if _, err := m.owner.Exec(ctx, `
					update paidonce.outbox set status = 'sent', sent_at = now(), lease_until = null
					where lease_until is not null and status = 'pending' and action collate "C" = 'noop.test'`); err != nil {
					return err
				}
			}
		}
		for _, list := range lists {
			times[list] = append(times[list], percentile(took[list], 0.5))
		}
	}
	fmt.Printf("a claim of 10 rows, beside none and %d pending rows of other actions (median of %d)\n", m.foreign, claims)
	for _, list := range lists {
		t := times[list]
		fmt.Printf("  %-24s %8.2f ms %8.2f ms\n", list, t[0].Seconds()*1000, t[1].Seconds()*1000)
	}
	fmt.Println()
	return nil
}
