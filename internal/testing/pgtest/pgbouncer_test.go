package pgtest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestPgBouncer(t *testing.T) {
	t.Parallel()
	db := pgtest.NewEmpty(t, cluster.Plain)

	pids := func(t *testing.T, url string) (first, second uint32) {
		t.Helper()
		for _, pid := range []*uint32{&first, &second} {
			conn, err := pgx.Connect(t.Context(), url+"&default_query_exec_mode=exec")
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close(t.Context()) })
			require.NoError(t, conn.QueryRow(t.Context(), "select pg_backend_pid()").Scan(pid))
		}
		return first, second
	}

	t.Run("given the transaction pooler when two clients ask in turn then the same server connection answers", func(t *testing.T) {
		first, second := pids(t, pgtest.PgBouncer(t, db))
		require.Equal(t, first, second)
	})

	t.Run("given the session pooler when two clients ask in turn then each has a server connection of its own", func(t *testing.T) {
		first, second := pids(t, pgtest.SessionPgBouncer(t, db))
		require.NotEqual(t, first, second)
	})
}
