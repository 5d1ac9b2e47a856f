package webhook_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func openPool(t *testing.T, url string, conns int32) *pgxpool.Pool {
	t.Helper()
	pool, err := database.Open(t.Context(), url, database.Options{MaxConns: conns})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// fill makes the pool open so many connections and leaves them idle.
func fill(t *testing.T, pool *pgxpool.Pool, n int) {
	t.Helper()
	held := make([]*pgxpool.Conn, n)
	for i := range held {
		var err error
		held[i], err = pool.Acquire(t.Context())
		require.NoError(t, err)
	}
	for _, conn := range held {
		conn.Release()
	}
}

// busy counts the handler's connections that are working or hold a transaction open.
func busy(t *testing.T, db *pgtest.DB) int64 {
	t.Helper()
	return pgtest.One[int64](t, db, `select count(*) from pg_stat_activity
		where datname = current_database() and application_name = 'paidonce' and state <> 'idle'`)
}

func events(t *testing.T, db *pgtest.DB) int64 {
	t.Helper()
	return pgtest.One[int64](t, db, "select count(*) from paidonce.events")
}

// customerEvent makes an event that has a handler built in.
func customerEvent(id string) string {
	return fmt.Sprintf(`{"id":%q,"object":"event","type":"customer.created","created":1750000000,"livemode":false,
		"data":{"object":{"id":"cus_1","object":"customer","metadata":{}}}}`, id)
}
