package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/traffic"
)

// One client, so that nothing clashes: what many do to each other is for tests/traffic.
func TestTraffic(t *testing.T) {
	t.Parallel()

	t.Run("given two customers when one client plays them by SQL and over HTTP then each has what it must have", func(t *testing.T) {
		t.Parallel()
		ctx := t.Context()
		b, err := start(ctx, options{rounds: 1, seconds: 0.01, clients: []int{1}, subscriptions: 1, plan: trafficOptions{quick: true}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.close()) })
		s := b.script()
		s.customers = 2
		for _, overHTTP := range []bool{false, true} {
			events, expected := s.burst()
			p, err := b.playFresh(ctx, overHTTP, 1, nil, events, expected)
			require.NoError(t, err)
			c := &trafficCell{}
			c.add(p)
			text, bad := c.others()
			require.Zero(t, bad, text)
			require.Zero(t, p.wrong)
			require.Zero(t, p.deadlocks)
			require.Equal(t, len(events), len(p.times))
		}

		events, expected := s.burst()
		sessions, rest := split(events)
		require.Len(t, sessions, 4)
		p, err := b.playFresh(ctx, false, 1, sessions, rest, expected)
		require.NoError(t, err)
		require.Zero(t, p.wrong)
		require.Zero(t, p.answers["parked"])

		expected[0].Credits++
		events, _ = traffic.Generator{Seed: 9}.Customer(1, traffic.First)
		p, err = b.playFresh(ctx, false, 1, append(sessions, rest...), events, expected)
		require.NoError(t, err)
		require.Equal(t, 1, p.wrong, "a wrong end is noticed")
	})

	t.Run("given -quick and a flag of its own when parsed then the flag stands", func(t *testing.T) {
		t.Parallel()
		o, err := parse([]string{"-quick", "-rounds", "4"})
		require.NoError(t, err)
		require.Equal(t, 4, o.rounds)
		require.Less(t, o.seconds, 0.8)
		require.Equal(t, []int{1, 4, 16, 64}, o.plan.clients)
		o, err = parse([]string{"-clients", "2,3"})
		require.NoError(t, err)
		require.Equal(t, []int{2, 3}, o.plan.clients)
	})
}
