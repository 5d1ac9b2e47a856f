package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
	"github.com/stretchr/testify/require"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	app(t, db)
	env := owner(db)
	db.Exec(t, `update app.mood set reason = E'no template\nfor it'`)
	_, url := serve(t, edge(t, db))
	failing := eventFile(t, "evt_paid", "invoice.paid", `{"id":"in_1","object":"invoice","customer":"cus_1","customer_email":"ada@customer.example"}`)
	require.Equal(t, 1, execute(t, nil, send(url, failing)...).code)
	succeed(t, nil, send(url, eventFile(t, "evt_other", "balance.available", `{"object":"balance"}`))...)

	t.Run("given two events when listed then the latest is first and the failed one says why", func(t *testing.T) {
		lines := strings.Split(strings.TrimSpace(succeed(t, env, "events", "list")), "\n")
		require.Len(t, lines, 3, "a message never breaks the table")
		require.Regexp(t, `evt_other +balance\.available +ignored +1`, lines[1])
		require.Regexp(t, `evt_paid +invoice\.paid +failed +1 +cus_1 +no template for it`, lines[2])
	})

	t.Run("given filters when listed as json then only what fits is there", func(t *testing.T) {
		var events []map[string]any
		require.NoError(t, json.Unmarshal([]byte(succeed(t, env, "events", "list", "--status", "failed", "--type", "invoice.*", "--customer", "cus_1", "--json")), &events))
		require.Len(t, events, 1)
		require.Equal(t, "evt_paid", events[0]["event_id"])
		require.NotContains(t, events[0], "payload")
		require.Equal(t, "[]\n", succeed(t, env, "events", "list", "--customer", "cus_none", "--json"))
	})

	t.Run("given a failed event when shown then the reason, its place and its delivery are there, and no personal data", func(t *testing.T) {
		out := succeed(t, env, "events", "show", "evt_paid")
		require.Regexp(t, `status +failed`, out)
		require.Contains(t, out, "PL/pgSQL function app.book(jsonb)")
		require.Contains(t, out, "deliveries: 1")
		require.Contains(t, out, "outbox rows: 0")
		require.NotContains(t, out, "ada@customer.example")
		require.Contains(t, succeed(t, env, "events", "show", "evt_paid", "--payload"), "ada@customer.example")
	})

	t.Run("given an unknown id when shown or replayed then it is exit code 1 with advice", func(t *testing.T) {
		for _, verb := range []string{"show", "replay"} {
			r := execute(t, env, "events", verb, "evt_none")
			require.Equal(t, 1, r.code)
			require.Contains(t, r.err, "paidonce events list")
		}
	})

	t.Run("given the cause is still there when replayed then it fails with exit code 1", func(t *testing.T) {
		r := execute(t, env, "events", "replay", "evt_paid")
		require.Equal(t, 1, r.code)
		require.Contains(t, r.out, "failed: no template")
	})

	t.Run("given the cause is mended when replayed then it is applied, then already applied, then forced", func(t *testing.T) {
		db.Exec(t, `update app.mood set reason = null`)
		require.Contains(t, succeed(t, env, "events", "replay", "evt_paid"), "applied now")
		require.Contains(t, succeed(t, env, "events", "replay", "evt_paid"), "already applied")
		require.EqualValues(t, 1, count(t, db, "app.bookings"))

		var results []map[string]any
		require.NoError(t, json.Unmarshal([]byte(succeed(t, env, "events", "replay", "evt_paid", "--force", "--json")), &results))
		require.Equal(t, "processed", results[0]["outcome"])
		require.EqualValues(t, 2, count(t, db, "app.bookings"), "forced means again; this app's effect is not idempotent")
		require.Contains(t, succeed(t, env, "events", "show", "evt_paid"), "evt_paid:email.receipt")
	})
}
