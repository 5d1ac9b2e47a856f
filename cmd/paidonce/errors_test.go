package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	t.Parallel()

	t.Run("given a message with a password in it when reported then it is not shown", func(t *testing.T) {
		t.Parallel()
		var out strings.Builder
		require.Equal(t, exitFailed, report(&out, errors.New("cannot use postgres://u:hush-hush@h/d")))
		require.Equal(t, "paidonce: cannot use postgres://u:***@h/d\n", out.String())
	})

	t.Run("given a command's own advice when reported then it goes before the general one", func(t *testing.T) {
		t.Parallel()
		var out strings.Builder
		require.Equal(t, exitFailed, report(&out, advised{err: fmt.Errorf("dial: %w", syscall.ECONNREFUSED), next: "start the handler"}))
		require.Contains(t, out.String(), "\n  next: start the handler\n")
		require.NotContains(t, out.String(), "Postgres")
	})
}
