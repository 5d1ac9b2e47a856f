package main

import (
	"context"
	"fmt"
)

const fewStored = 50_000

// compareStored measures what the claim costs with few and with many events stored already. The stored ones
// have short payloads, since five million of 3 kB would ask for the disk and not for the index; their ids are
// spread like real ones over the whole index.
func (b *bench) compareStored(ctx context.Context) error {
	var cells []*cell
	clients := b.clients[len(b.clients)-1]
	for _, stored := range []int{fewStored, b.stored} {
		v, err := b.variant(ctx, fmt.Sprint(stored), fmt.Sprintf("%d stored", stored))
		if err != nil {
			return err
		}
		fmt.Printf("storing %d events …\n", stored)
		if err := v.store(ctx, stored); err != nil {
			return err
		}
		pool, err := b.pool(ctx, b.cluster.URL("paidonce_edge", v.database()))
		if err != nil {
			return err
		}
		v.take = function(pool)
		for _, duplicate := range []bool{false, true} {
			cells = append(cells, &cell{variant: v, clients: clients, duplicate: duplicate})
		}
	}
	if err := b.measure(ctx, cells); err != nil {
		return err
	}
	w := table()
	fmt.Fprintf(w, "(c), %d client(s)\tfirst\tduplicate\t\n", clients)
	for i := 0; i < len(cells); i += 2 {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t\n", cells[i].variant.name, cells[i].rate(), cells[i+1].rate())
	}
	first, again := cells[0].rate()/cells[2].rate(), cells[1].rate()/cells[3].rate()
	fmt.Fprintf(w, "cost with many, of that with few\t%.2f\t%.2f\t\n", first, again)
	fmt.Fprintf(w, "target ≤ 1.20\t%s\t%s\t\n", verdict(first <= 1.2), verdict(again <= 1.2))
	return w.Flush()
}

func (v *variant) store(ctx context.Context, n int) error {
	for _, sql := range []string{
		fmt.Sprintf(`
			insert into paidonce.events (event_id, event_type, object_id, customer_id, livemode, created, status, processed_at, payload)
			select 'evt_' || md5(i::text), 'customer.subscription.updated', 'sub_' || i %% 100000, 'cus_' || i %% 100000, true, now(),
				'processed', now(), '{}'
			from generate_series(1, %d) as i`, n),
		"vacuum (analyze) paidonce.events",
		"checkpoint",
	} {
		if _, err := v.admin.Exec(ctx, sql); err != nil {
			return fmt.Errorf("store events: %w", err)
		}
	}
	return nil
}
