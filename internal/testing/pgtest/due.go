package pgtest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Querier is a pool, a connection or a transaction.
type Querier interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}

// RunDueNow runs what is due at this moment and not busy.
func RunDueNow(t testing.TB, db Querier) {
	t.Helper()
	for ran := 1; ran > 0; {
		require.NoError(t, db.QueryRow(t.Context(), "select paidonce.run_due(1)").Scan(&ran))
	}
}

// RunDue does what a worker does after deliveries: it runs what is due, one item after the other, until nothing
// of it is left. What was busy is put off for a second or so, and waited for.
func RunDue(t testing.TB, db Querier) {
	t.Helper()
	for begun := time.Now(); ; {
		RunDueNow(t, db)
		var left int
		require.NoError(t, db.QueryRow(t.Context(), "select count(*) from paidonce.due_work").Scan(&left))
		if left == 0 {
			return
		}
		require.Less(t, time.Since(begun), 30*time.Second, "%d items of due work are never done", left)
		time.Sleep(20 * time.Millisecond)
	}
}
