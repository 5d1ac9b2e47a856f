package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
	"github.com/stretchr/testify/require"
)

func TestSend(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, url := serve(t, edge(t, db))

	t.Run("given lines of events when sent with -v then each delivery has a line and each event its counts", func(t *testing.T) {
		t.Parallel()
		one, err := os.ReadFile(eventFile(t, "evt_a", "a.b", `{}`))
		require.NoError(t, err)
		two, err := os.ReadFile(eventFile(t, "evt_b", "a.b", `{}`))
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "events.jsonl")
		require.NoError(t, os.WriteFile(file, append(one, two...), 0o644))
		r := execute(t, nil, send(url, "-v", "--times", "2", file)...)
		require.Zero(t, r.code, r.err)
		require.Regexp(t, `^evt_a  a\.b\n +1 × 200 duplicate\n +1 × 200 ignored\nevt_b  a\.b\n +1 × 200 duplicate\n +1 × 200 ignored\n$`, r.out)
		require.Equal(t, 4, strings.Count(r.err, "  200 "))
	})

	t.Run("given --fresh-id when sent twice then it is a first delivery twice", func(t *testing.T) {
		t.Parallel()
		file := eventFile(t, "evt_fresh", "fresh.type", `{}`)
		for range 2 {
			succeed(t, nil, send(url, "--fresh-id", file)...)
		}
		require.EqualValues(t, 2, count(t, db, "paidonce.events where event_type = 'fresh.type'"))
		require.Zero(t, count(t, db, "paidonce.events where event_id = 'evt_fresh'"))
	})

	t.Run("given something that is no event when sent then it is refused and that is exit code 1", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "null.json")
		require.NoError(t, os.WriteFile(file, []byte("null"), 0o644))
		r := execute(t, nil, send(url, file)...)
		require.Equal(t, 1, r.code)
		require.Contains(t, r.out, "1 × 400")
	})

	t.Run("given standard input when sent then it is read", func(t *testing.T) {
		t.Parallel()
		cmd := command(t, nil, send(url, "-")...)
		cmd.Stdin = strings.NewReader(`{"id":"evt_stdin","type":"a.b","data":{"object":{}}}`)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "evt_stdin")
	})
}
