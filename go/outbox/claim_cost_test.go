package outbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// pagesOf says how many pages one call reads, those of the statements inside it included. It is undone.
func pagesOf(t *testing.T, conn *pgx.Conn, sql string) int {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
	var text string
	require.NoError(t, tx.QueryRow(t.Context(), "explain (analyze, buffers, format json) "+sql).Scan(&text))
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &plans))
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

func TestClaimCost(t *testing.T) {
	t.Parallel()
	const foreign = 20000

	for name, tc := range map[string]struct{ statistics, waiting string }{
		"rows that others send": {"analyze paidonce.outbox", "now() - interval '1 day'"},
		"rows that are not due": {"analyze paidonce.outbox", "now() + interval '1 day'"},
		"rows that others send, and statistics of an empty table,": {"", "now() - interval '1 day'"},
	} {
		t.Run(fmt.Sprintf("given %d %s when a few others are claimed then only those are read", foreign, name), func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			db.Exec(t, "alter table paidonce.outbox set (autovacuum_enabled = off)")
			db.Exec(t, "analyze paidonce.outbox")
			conn, err := pgx.Connect(t.Context(), db.URL("postgres"))
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			claims := map[string]string{
				"an action":                 "{email.welcome}",
				"a family":                  "{email.*}",
				"two families":              "{email.*,sms.*}",
				"a family but for one":      "{stripe.*,!stripe.refetch}",
				"all but what others send":  "{*,!stripe.refetch,!http.*}",
				"a family that has nothing": "{fax.*}",
			}
			for range 7 { // plans that were made for the empty table stay
				for _, actions := range claims {
					pagesOf(t, conn, fmt.Sprintf("select * from paidonce.claim_outbox(5, '1 minute', '%s')", actions))
				}
			}
			db.Exec(t, `
				insert into paidonce.outbox (action, payload, idempotency_key, next_attempt_at)
				select case when n % 2 = 0 then 'stripe.refetch' else 'http.order' end, '{}', 'k' || n, `+tc.waiting+`
				from generate_series(1, $1::integer) as n`, foreign)
			askMany(t, db, "email.welcome", 3)
			askMany(t, db, "sms.welcome", 3)
			askMany(t, db, "stripe.note", 3)
			if tc.statistics != "" {
				db.Exec(t, tc.statistics)
			}
			for what, actions := range claims {
				claim := fmt.Sprintf("select * from paidonce.claim_outbox(5, '1 minute', '%s')", actions)
				pagesOf(t, conn, claim) // plans, if it has to
				pages := pagesOf(t, conn, claim)
				require.Less(t, pages, 300, what) // the whole table is more than that
			}
		})
	}
}

func TestClaimLocked(t *testing.T) {
	t.Parallel()

	t.Run("given that somebody has locked the row due first when one of any action is claimed then the next of another comes", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		ask(t, db, "a.x", "first")
		ask(t, db, "b.x", "second")
		ask(t, db, "c.x", "third")
		tx, err := db.Pool.Begin(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
		_, err = tx.Exec(t.Context(), "select from paidonce.outbox where idempotency_key = 'first' for share")
		require.NoError(t, err)
		claim := "select coalesce(string_agg(idempotency_key, ' ' order by id), '') from paidonce.claim_outbox($1::integer, '1 hour', $2::text[])"
		require.Equal(t, "second", pgtest.One[string](t, db, claim, 1, []string{"*"}))
		require.Equal(t, "third", pgtest.One[string](t, db, claim, 9, nil))
		require.Empty(t, pgtest.One[string](t, db, claim, 9, []string{"a.*", "b.*"}))
		require.NoError(t, tx.Rollback(t.Context()))
		require.Equal(t, "first", pgtest.One[string](t, db, claim, 9, nil))
		require.EqualValues(t, 3, count(t, db, "attempts = 1"))
	})
}
