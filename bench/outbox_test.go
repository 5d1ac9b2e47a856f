package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is measured has to go on working when the schema changes; how fast it is nobody asserts.
func TestOutboxBench(t *testing.T) {
	t.Parallel()

	t.Run("given a few rows when each way of draining them is measured then each sends all of them", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, outboxBench(t.Context(), []string{"-rows", "300", "-rounds", "1", "-batch", "50", "-foreign", "500", "-parts", "claim,drain"}))
	})

	t.Run("given numbers that are none when measured then it is refused", func(t *testing.T) {
		t.Parallel()
		require.Error(t, outboxBench(t.Context(), []string{"-rows", "0"}))
	})
}
