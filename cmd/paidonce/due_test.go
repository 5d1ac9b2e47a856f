package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/duetest"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestDueWork(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		args []string
		done bool
	}{
		"given no sender when the worker runs then it does due work and says that it does no more":               {[]string{"worker"}, true},
		"given no sender and the webhook's rights alone when it serves then it does due work, too":               {[]string{"serve", "--addr", "127.0.0.1:0"}, true},
		"given that it is to be no worker when it serves then due work is left to another process and not begun": {[]string{"serve", "--addr", "127.0.0.1:0", "--no-worker"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			duetest.Replace(t, db)
			duetest.Add(t, db, 20, 0)
			role := "paidonce_edge"
			if tc.args[0] == "worker" {
				role = "paidonce_worker"
			}
			p := start(t, command(t, append(at(login(t, db, role)), "STRIPE_WEBHOOK_SECRET="+secret), tc.args...))
			if tc.done {
				soon(t, "it is done", func() bool { return duetest.Left(t, db) == 0 })
				require.Contains(t, p.text(), "due work only: no sender is configured")
				require.Contains(t, p.text(), "RESEND_API_KEY for email.*")
			} else {
				soon(t, "it serves", func() bool { return strings.Contains(p.text(), "msg=listening") })
				time.Sleep(300 * time.Millisecond)
				require.Zero(t, duetest.Calls(t, db))
			}
			require.NotContains(t, p.text(), "level=ERROR")
			require.NotContains(t, p.text(), "level=WARN")
			p.signal(t, syscall.SIGTERM)
			require.NoError(t, p.wait(t, 15*time.Second))
		})
	}
}
