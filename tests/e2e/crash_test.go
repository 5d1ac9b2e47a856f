package e2e_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/migrate"
	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// acknowledged notes which events have been answered with 200, and as what.
type acknowledged struct {
	mu  sync.Mutex
	all map[string]string
}

func (a *acknowledged) note(e event, got answer) {
	if got.Status != 200 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	// processed is the last word: a parked delivery answered later was decided earlier.
	if a.all[e.id] != "processed" {
		a.all[e.id] = got.Outcome
	}
}

func (a *acknowledged) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.all)
}

func TestPostgresKilled(t *testing.T) {
	t.Parallel()

	t.Run("given parallel deliveries when postgres is killed in their midst, twice, then nothing acknowledged is lost and nothing is doubled", func(t *testing.T) {
		t.Parallel()
		// A cluster of its own, which keeps what it says it has kept: fsync is on.
		c, err := cluster.Start(t.Context(), cluster.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Stop()) })
		const name = "shop"
		require.NoError(t, c.CreateDatabase(t.Context(), name, cluster.Supabase))
		_, err = migrate.Up(t.Context(), c.URL("postgres", name), slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		pool, err := pgxpool.New(t.Context(), c.URL("postgres", name))
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		_, err = pool.Exec(t.Context(), appSQL)
		require.NoError(t, err)
		require.NoError(t, c.AllowLogin(t.Context(), "paidonce_edge"))
		s := &shop{t: t, client: newClient(t), url: listen(t, newHandler(t, c.URL("paidonce_edge", name), secret)).URL}

		// Invoices may come before their checkout, so there are parked events in the crash, too.
		var events []event
		for range 120 {
			b := newBuyer()
			events = append(events, b.subscribed("created", "active", 0), b.subscribed("updated", "past_due", 1), b.paid(fresh("in")), b.checkout())
		}
		rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })

		acks := &acknowledged{all: map[string]string{}}
		for _, share := range []int{len(events) / 4, len(events) / 2} {
			s.deliverUntilKilled(c, events, acks, share)
			require.Less(t, acks.count(), len(events), "the kill came too late to mean anything")
			require.NoError(t, c.Restart(t.Context()))
			requireKept(t, pool, acks)
			requireSound(t, pool)
		}
		for share := range slices.Chunk(events, 16) {
			for _, got := range s.parallel(share...) {
				require.Equal(t, 200, got.Status, got)
			}
		}
		pgtest.RunDue(t, pool)
		var processed int
		require.NoError(t, pool.QueryRow(t.Context(), "select count(*) from paidonce.events where status = 'processed'").Scan(&processed))
		require.Equal(t, len(events), processed)
		requireSound(t, pool)
	})
}

// deliverUntilKilled delivers every event twice from eight senders and kills Postgres once that many have
// been acknowledged. Senders go on for as long as the server is down, as Stripe's do.
func (s *shop) deliverUntilKilled(c *cluster.Cluster, events []event, acks *acknowledged, share int) {
	s.t.Helper()
	var killed atomic.Bool
	work := make(chan event)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for e := range work {
				acks.note(e, s.deliver(e))
			}
		})
	}
	done := make(chan error, 1)
	go func() {
		for acks.count() < share {
			time.Sleep(time.Millisecond)
		}
		done <- c.Kill()
		killed.Store(true)
	}()
	for _, e := range events {
		for range 2 {
			if killed.Load() {
				break
			}
			work <- e
		}
	}
	close(work)
	group.Wait()
	require.NoError(s.t, <-done)
}

// requireKept finds every acknowledged event, in a state that is no earlier than the answer.
func requireKept(t *testing.T, pool *pgxpool.Pool, acks *acknowledged) {
	t.Helper()
	kept := map[string]string{}
	rows, err := pool.Query(context.Background(), "select event_id, status from paidonce.events")
	require.NoError(t, err)
	for rows.Next() {
		var id, status string
		require.NoError(t, rows.Scan(&id, &status))
		kept[id] = status
	}
	require.NoError(t, rows.Err())
	for id, outcome := range acks.all {
		require.Contains(t, kept, id, "acknowledged as %s", outcome)
		if outcome != "parked" {
			require.Equal(t, "processed", kept[id], "acknowledged as %s", outcome)
		}
	}
}
