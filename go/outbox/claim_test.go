package outbox_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestClaimLimit(t *testing.T) {
	t.Parallel()

	plans := []string{"enable_seqscan", "enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan", "enable_hashjoin", "enable_hashagg", "enable_mergejoin", "enable_sort", "enable_material", "enable_memoize"}
	for name, prepare := range map[string]string{
		"a table that was never analyzed": `alter table paidonce.outbox set (autovacuum_enabled = off)`,
		"statistics of an empty table":    `alter table paidonce.outbox set (autovacuum_enabled = off); analyze paidonce.outbox`,
	} {
		t.Run("given "+name+" when rows are claimed under any plan then never more than the limit are locked or leased", func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			db.Exec(t, prepare)
			askMany(t, db, "test.a", 3000)
			conn, err := pgx.Connect(t.Context(), db.URL("postgres"))
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			claimed := int64(0)
			for forced := range len(plans) + 1 { // each way to join and to scan alone, then nothing but nested loops
				for i, plan := range plans {
					state := "on"
					if i == forced || forced == len(plans) && plan != "enable_indexscan" {
						state = "off"
					}
					_, err := conn.Exec(t.Context(), fmt.Sprintf("set %s = %s", plan, state))
					require.NoError(t, err)
				}
				for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
					_, err := conn.Exec(t.Context(), "set plan_cache_mode = "+mode)
					require.NoError(t, err)
					for _, limit := range []int64{1, 7} {
						rows, err := conn.Query(t.Context(), "select id from paidonce.claim_outbox($1::integer, '1 hour', '{test.*}')", limit)
						require.NoError(t, err)
						ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
						require.NoError(t, err)
						require.Len(t, ids, int(limit))
						claimed += limit
						require.Equal(t, claimed, count(t, db, "lease_until is not null"))
					}
				}
			}
		})
	}

	t.Run("given 8 claimers at once when each takes 3 at a time then no row is handed out twice", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		askMany(t, db, "test.a", 600)
		var mu sync.Mutex
		seen := map[int64]int{}
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for {
					rows, _ := db.Pool.Query(t.Context(), "select id from paidonce.claim_outbox(3, '1 hour')")
					ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
					if err != nil || len(ids) == 0 || len(ids) > 3 {
						return
					}
					mu.Lock()
					for _, id := range ids {
						seen[id]++
					}
					mu.Unlock()
				}
			})
		}
		group.Wait()
		require.Len(t, seen, 600)
		for id, times := range seen {
			require.Equal(t, 1, times, id)
		}
		require.EqualValues(t, 600, count(t, db, "attempts = 1 and lease_token = 1"))
	})
}

func TestCommitOrder(t *testing.T) {
	t.Parallel()

	t.Run("given a lower id that commits after a higher one was sent when the worker polls then it is sent too", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		tx, err := db.Pool.Begin(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
		_, err = tx.Exec(t.Context(), "select paidonce.enqueue_once('first', null, 'test.a', '{}')")
		require.NoError(t, err)
		ask(t, db, "test.a", "second")
		var s sent
		start(t, db, outbox.Options{}, func(w *outbox.Worker) { w.Handle("test.*", s.accept) })
		eventually(t, "the higher id goes first", func() bool { return s.keys()["second"] == 1 })
		time.Sleep(100 * time.Millisecond)
		require.Len(t, s.list(), 1)
		require.NoError(t, tx.Commit(t.Context()))
		eventually(t, "and the lower one is not passed over", func() bool { return s.keys()["first"] == 1 })
		require.Less(t, s.list()[1].ID, s.list()[0].ID)
	})
}

func TestRefetchAskedForMeanwhile(t *testing.T) {
	t.Parallel()

	t.Run("given a refetch in flight when an event asks for it again then the answer on its way does not settle it and it is made once more", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		request := func() {
			db.Exec(t, `select paidonce.request_refetch('{"id": "evt_1"}', 'subscription', 'sub_1')`)
		}
		request()
		request()
		require.EqualValues(t, 1, count(t, db, "true"), "one request waits")
		var token int64
		require.NoError(t, db.Pool.QueryRow(t.Context(), "select lease_token from paidonce.claim_outbox(1, '1 hour')").Scan(&token))
		request()
		require.Zero(t, pgtest.One[int64](t, db, `
			select count(*) from paidonce.settle_outbox(jsonb_build_array(jsonb_build_object(
				'id', (select id from paidonce.outbox), 'lease_token', $1::bigint, 'outcome', 'sent')))`, token))
		var attempts int
		require.NoError(t, db.Pool.QueryRow(t.Context(), "select attempts from paidonce.claim_outbox(1, '1 hour')").Scan(&attempts))
		require.Equal(t, 1, attempts, "the attempt that came to nothing does not count")
	})
}
