package deliver_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76/webhook"
	"go.uber.org/goleak"

	"github.com/paidonce/paidonce/internal/deliver"
)

const secret = "whsec_test_only"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// endpoint is a receiver of its own: it checks the signature with Stripe's library and leaves the answer to the test.
func endpoint(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || webhook.ValidatePayload(body, r.Header.Get("Stripe-Signature"), secret) != nil {
			http.Error(w, "bad signature", http.StatusBadRequest)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func event() []deliver.Event {
	return []deliver.Event{{ID: "evt_1", Type: "invoice.paid", Body: []byte(`{"id":"evt_1"}`)}}
}

func TestRun(t *testing.T) {
	t.Parallel()

	t.Run("given mixed answers when delivered then each distinct one is counted", func(t *testing.T) {
		t.Parallel()
		var served atomic.Int32
		url := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
			switch served.Add(1) {
			case 1:
				_, _ = io.WriteString(w, `{"received":true,"outcome":"processed"}`)
			case 2:
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = io.WriteString(w, `{"error":"an effect failed"}`)
			case 3:
				http.Error(w, "gateway is away\nmore", http.StatusBadGateway)
			default:
				_, _ = io.WriteString(w, `{"received":true,"outcome":"duplicate"}`)
			}
		})
		var seen int
		summaries, err := deliver.Run(t.Context(), event(), deliver.Options{
			URLs: []string{url}, Secret: secret, Times: 10, Parallel: 4, OnResult: func(deliver.Result) { seen++ },
		})
		require.NoError(t, err)
		require.Equal(t, 10, seen)
		require.Equal(t, []deliver.Summary{{
			EventID: "evt_1", EventType: "invoice.paid", Delivered: 8, Refused: 2,
			Answers: []deliver.Count{
				{Status: 200, Outcome: "processed", Times: 1}, {Status: 200, Outcome: "duplicate", Times: 7},
				{Status: 500, Outcome: "an effect failed", Times: 1}, {Status: 502, Outcome: "gateway is away", Times: 1},
			},
		}}, summaries)
	})

	t.Run("given a parallel of four when delivered then four and no more are in flight", func(t *testing.T) {
		t.Parallel()
		var inFlight, most atomic.Int32
		full := make(chan struct{})
		url := endpoint(t, func(http.ResponseWriter, *http.Request) {
			n := inFlight.Add(1)
			defer inFlight.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			if n == 4 {
				select {
				case <-full:
				default:
					close(full)
				}
			}
			select {
			case <-full:
				time.Sleep(5 * time.Millisecond) // leaves a fifth one the time to show itself
			case <-time.After(5 * time.Second):
			}
		})
		_, err := deliver.Run(t.Context(), event(), deliver.Options{URLs: []string{url}, Secret: secret, Times: 20, Parallel: 4})
		require.NoError(t, err)
		require.EqualValues(t, 4, most.Load())
	})

	t.Run("given several events when delivered then all of one come before the next", func(t *testing.T) {
		t.Parallel()
		url := endpoint(t, func(http.ResponseWriter, *http.Request) {})
		events := append(event(), deliver.Event{ID: "evt_2", Body: []byte(`{"id":"evt_2"}`)})
		var order []string
		_, err := deliver.Run(t.Context(), events, deliver.Options{
			URLs: []string{url}, Secret: secret, Times: 3, Parallel: 3, OnResult: func(r deliver.Result) { order = append(order, r.Event.ID) },
		})
		require.NoError(t, err)
		require.Equal(t, []string{"evt_1", "evt_1", "evt_1", "evt_2", "evt_2", "evt_2"}, order)
	})

	t.Run("given two endpoints when delivered then they take turns", func(t *testing.T) {
		t.Parallel()
		var first, second atomic.Int32
		urls := []string{
			endpoint(t, func(http.ResponseWriter, *http.Request) { first.Add(1) }),
			endpoint(t, func(http.ResponseWriter, *http.Request) { second.Add(1) }),
		}
		_, err := deliver.Run(t.Context(), event(), deliver.Options{URLs: urls, Secret: secret, Times: 9, Parallel: 3})
		require.NoError(t, err)
		require.EqualValues(t, 5, first.Load())
		require.EqualValues(t, 4, second.Load())
	})

	t.Run("given a redirect when delivered then it is not followed and not a delivery", func(t *testing.T) {
		t.Parallel()
		url := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
		})
		summaries, err := deliver.Run(t.Context(), event(), deliver.Options{URLs: []string{url}, Secret: secret})
		require.NoError(t, err)
		require.Equal(t, 1, summaries[0].Refused)
		require.Equal(t, 301, summaries[0].Answers[0].Status)
	})

	t.Run("given nobody listening when delivered then it is counted as no answer with the reason", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(http.NotFoundHandler())
		server.Close()
		summaries, err := deliver.Run(t.Context(), event(), deliver.Options{URLs: []string{server.URL}, Secret: secret, Times: 2})
		require.NoError(t, err)
		require.Equal(t, []deliver.Count{{Status: 0, Outcome: "no answer", Times: 2}}, summaries[0].Answers)
		require.ErrorContains(t, summaries[0].Err, "refused")
	})

	t.Run("given a cancelled context when delivering then it stops and says so", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		url := endpoint(t, func(http.ResponseWriter, *http.Request) { cancel() })
		summaries, err := deliver.Run(ctx, event(), deliver.Options{URLs: []string{url}, Secret: secret, Times: 1000})
		require.ErrorIs(t, err, context.Canceled)
		require.Less(t, summaries[0].Delivered+summaries[0].Refused, 10, "the rest is not tried")
	})
}
