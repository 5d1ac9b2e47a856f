package webhook_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/testing/duetest"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestRunDue(t *testing.T) {
	t.Parallel()

	t.Run("given a handler that runs due work when a delivery is answered then what has become due is done after it, and the request has not waited", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		duetest.Replace(t, db)
		h := newHandler(t, webhook.Options{DB: openPool(t, db.URL("postgres"), 4)})
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		done := make(chan error, 1)
		go func() { done <- h.RunDue(ctx) }()
		t.Cleanup(func() {
			cancel()
			require.NoError(t, <-done)
		})
		time.Sleep(2500 * time.Millisecond) // it looks often at first
		duetest.Add(t, db, 1, 60)
		duetest.Add(t, db, 5, 0)
		began := time.Now()
		require.Equal(t, 200, serve(t, h, signed(customerEvent("evt_1"))).Status)
		require.Less(t, time.Since(began), 5*time.Second)
		require.Eventually(t, func() bool { return duetest.Left(t, db) == 1 }, 10*time.Second, 5*time.Millisecond)
	})

	t.Run("given a handler that does not run due work when a delivery is answered then none is asked for", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		duetest.Replace(t, db)
		duetest.Add(t, db, 1, 0)
		h := newHandler(t, webhook.Options{DB: openPool(t, db.URL("postgres"), 2)})
		require.Equal(t, 200, serve(t, h, signed(customerEvent("evt_1"))).Status)
		time.Sleep(200 * time.Millisecond)
		require.Zero(t, duetest.Calls(t, db))
	})
}
