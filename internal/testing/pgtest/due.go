package pgtest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// RunDue does what a worker does after deliveries: it runs what is due, one item after the other, until nothing
// of it is left. What was busy is put off for a second or so, and waited for.
func RunDue(t testing.TB, db interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}) {
	t.Helper()
	for begun := time.Now(); ; {
		var ran, left int
		require.NoError(t, db.QueryRow(t.Context(), "select paidonce.run_due(1)").Scan(&ran))
		if ran > 0 {
			continue
		}
		require.NoError(t, db.QueryRow(t.Context(), "select count(*) from paidonce.due_work").Scan(&left))
		if left == 0 {
			return
		}
		require.Less(t, time.Since(begun), 30*time.Second, "%d items of due work are never done", left)
		time.Sleep(20 * time.Millisecond)
	}
}
