package refetch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outbox/refetch"
	"github.com/paidonce/paidonce/go/outboxtest"
	"github.com/paidonce/paidonce/internal/testing/fakehttp"
)

func TestPace(t *testing.T) {
	t.Parallel()

	t.Run("given a rate when many rows are sent at once then Stripe sees no more than that", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		d.send = d.sender(refetch.Options{Rate: 20})
		d.stripe.Put("", subscription("active"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		var all sync.WaitGroup
		for range 60 {
			all.Go(func() { _, _ = d.send(ctx, row("subscription", "sub_1", "")) })
		}
		all.Wait()
		took := time.Since(began).Seconds() // a slow machine may take longer; the rate holds all the same
		asked := len(d.stripe.Requests("GET", "/"))
		require.GreaterOrEqual(t, asked, 5)
		require.LessOrEqual(t, asked, 5+int(20*took)+1)
	})

	for header, want := range map[string]string{"2": "retry after 2s", "": "retry after 1s"} {
		t.Run(fmt.Sprintf("given a 429 with Retry-After %q when others want to ask then none does before that is over", header), func(t *testing.T) {
			t.Parallel()
			d := open(t)
			d.stripe.Put("", subscription("active"))
			d.stripe.Break(fakehttp.Fault{Status: 429, Header: map[string]string{"Retry-After": header}, Body: `{"error":{"type":"invalid_request_error","code":"rate_limit"}}`})
			verdict, _ := d.ask("subscription", "sub_1", "")
			require.Equal(t, want, verdict)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			_, err := d.send(ctx, row("subscription", "sub_1", ""))
			require.Regexp(t, "^retry after ", outboxtest.Verdict(err))
			require.Len(t, d.stripe.Requests("GET", "/"), 1)
			d.requireSent("subscription", "sub_1", "")
			require.Len(t, d.stripe.Requests("GET", "/"), 2)
		})
	}
}
