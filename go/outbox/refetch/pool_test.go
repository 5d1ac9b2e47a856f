package refetch_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// poolAs opens a pool in a role.
func poolAs(t *testing.T, db *pgtest.DB, role string) *pgxpool.Pool {
	t.Helper()
	pool, err := database.Open(t.Context(), db.Login(t, role), database.Options{MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}
