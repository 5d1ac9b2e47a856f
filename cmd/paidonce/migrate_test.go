package main

import (
	"encoding/json"
	"testing"

	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
	"github.com/stretchr/testify/require"
)

func TestMigrate(t *testing.T) {
	t.Parallel()

	t.Run("given an empty database when migrated up, down and up then each step says so", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		env := owner(db)

		r := execute(t, env, "migrate", "status")
		require.Equal(t, 1, r.code)
		require.Contains(t, r.out, "missing 000001_init")
		require.Contains(t, r.err, "paidonce migrate up")
		require.Contains(t, succeed(t, env, "migrate", "up"), "applied 000001_init")
		require.NotContains(t, succeed(t, env, "migrate", "up"), "applied")

		var status struct{ Version, Latest int }
		require.NoError(t, json.Unmarshal([]byte(succeed(t, env, "migrate", "status", "--json")), &status))
		require.Equal(t, status.Latest, status.Version)
		require.Contains(t, succeed(t, env, "migrate", "down"), "taken back 000001_init")
		require.Contains(t, succeed(t, env, "migrate", "up"), "applied 000001_init")
	})

	t.Run("given events are stored when migrated down then it is refused without --yes", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		succeed(t, owner(db), "migrate", "up")
		db.Exec(t, `select public.handle_stripe_event('{"id":"evt_1","type":"a.b","data":{"object":{}}}')`)
		r := execute(t, owner(db), "migrate", "down")
		require.Equal(t, 2, r.code)
		require.Contains(t, r.err, "--yes")
		require.EqualValues(t, 1, count(t, db, "paidonce.events"))
		succeed(t, owner(db), "migrate", "down", "--yes")
		require.True(t, pgtest.One[bool](t, db, `select to_regclass('paidonce.events') is null`))
	})
}
