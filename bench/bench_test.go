package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEvent(t *testing.T) {
	t.Parallel()

	t.Run("given a number when its event is written then it is JSON, of about 3 kB, and always the same", func(t *testing.T) {
		t.Parallel()
		s := &source{subscriptions: 10}
		d := s.event(7)
		require.True(t, json.Valid([]byte(d.body)))
		require.InDelta(t, 3000, len(d.body), 200)
		require.Equal(t, d, s.event(7))
		require.Equal(t, d.id, idIn(d.body))
		require.NotContains(t, d.body, "{{")
	})

	t.Run("given events given out when duplicates are asked for then they are among them", func(t *testing.T) {
		t.Parallel()
		s := &source{subscriptions: 10}
		given := map[string]bool{}
		for range 20 {
			given[s.fresh().id] = true
		}
		for range 100 {
			require.True(t, given[s.again().id])
		}
	})
}

// What is compared must do the same work, and goes on doing it when the schema changes.
func TestVariants(t *testing.T) {
	t.Parallel()

	t.Run("given every variant when it takes 20 events twice then each takes them once, and (b) and (c) leave the same rows", func(t *testing.T) {
		t.Parallel()
		ctx := t.Context()
		b, err := start(ctx, options{rounds: 1, seconds: 0.01, clients: []int{2}, subscriptions: 5, delay: 2 * time.Millisecond})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.close()) })
		all, err := b.variants(ctx)
		require.NoError(t, err)
		far, err := b.delayed(ctx, b.delay)
		require.NoError(t, err)
		all = append(all, far...)

		left := map[string]string{}
		for _, v := range all {
			require.NoError(t, v.settle(ctx))
			for range 20 {
				outcome, err := v.take(ctx, v.source.fresh())
				require.NoError(t, err, v.key)
				require.Contains(t, []string{"", "processed"}, outcome, v.key)
			}
			for range 20 {
				outcome, err := v.take(ctx, v.source.again())
				require.NoError(t, err, v.key)
				require.Contains(t, []string{"", "duplicate"}, outcome, v.key)
			}
			left[v.key] = v.rows(ctx, t)
		}
		for _, key := range []string{"bh", "c", "d", farKey("bh", b.delay), farKey("d", b.delay)} {
			require.Equal(t, left["b"], left[key], key)
		}
		require.Equal(t, "20 0", left["a"][:4])
		require.Equal(t, left["a"], left["d0"])
	})
}

func TestFar(t *testing.T) {
	t.Parallel()

	t.Run("given a proxy of 20 ms each way when bytes are sent in two pieces then they come back after 40 ms, together", func(t *testing.T) {
		t.Parallel()
		echo, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = echo.Close() })
		go func() {
			if conn, err := echo.Accept(); err == nil {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}
		}()
		f, err := listenFar(echo.Addr().(*net.TCPAddr).Port, 20*time.Millisecond)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, f.close()) })
		conn, err := net.Dial("tcp", f.listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })

		began := time.Now()
		for _, piece := range []string{"over ", "there"} {
			_, err = conn.Write([]byte(piece))
			require.NoError(t, err)
			time.Sleep(5 * time.Millisecond)
		}
		got := make([]byte, 10)
		_, err = io.ReadFull(conn, got)
		require.NoError(t, err)
		require.Equal(t, "over there", string(got))
		require.GreaterOrEqual(t, time.Since(began), 45*time.Millisecond)
		require.Less(t, time.Since(began), 75*time.Millisecond, "the second piece waited for the first")
	})
}

// rows is what a variant has left, without what differs by nature: times, ranks, numbers of rows.
func (v *variant) rows(ctx context.Context, t *testing.T) string {
	t.Helper()
	var text string
	require.NoError(t, v.admin.QueryRow(ctx, `
		select concat_ws(' ',
			(select count(*) from bench.bare),
			(select count(*) from paidonce.events where event_type = 'customer.subscription.updated') - 5,
			(select count(*) from paidonce.deliveries) - 5,
			(select string_agg(concat_ws('|', event_id, action, payload, status, idempotency_key, coalesce_key), E'\n' order by id) from paidonce.outbox),
			(select string_agg(concat_ws('|', event_id, event_type, object_id, customer_id, livemode, api_version, created, status, attempts, md5(payload::text)), E'\n' order by event_id) from paidonce.events),
			(select string_agg(concat_ws('|', subscription_id, customer_id, livemode, status, created, current_period_start, current_period_end, cancel_at, ended_at, as_of, generation, source_event, md5(data::text)), E'\n' order by subscription_id) from paidonce.subscriptions),
			(select string_agg(concat_ws('|', i), E'\n' order by item_id) from paidonce.subscription_items as i))`).Scan(&text))
	return text
}
