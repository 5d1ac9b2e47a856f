package traffic

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCustomer(t *testing.T) {
	t.Parallel()

	t.Run("given a seed and a number when a customer is made twice then the events are the same, and those of another number are not", func(t *testing.T) {
		t.Parallel()
		first, expected := Generator{Seed: 3}.Customer(7, All...)
		again, _ := Generator{Seed: 3}.Customer(7, All...)
		other, _ := Generator{Seed: 3}.Customer(8, All...)
		require.Equal(t, first, again)
		require.NotEqual(t, first[0].ID, other[0].ID)
		require.Equal(t, int64(100+250-50+40+250), expected.Credits)
		require.Equal(t, "plus", expected.Feature)
	})

	t.Run("given a first subscription when it is made then it is all that Stripe sends, and the user is named last", func(t *testing.T) {
		t.Parallel()
		events, expected := Generator{}.Customer(1, First)
		require.Len(t, events, 13)
		require.Equal(t, "checkout.session.completed", events[12].Type)
		require.Equal(t, int64(100), expected.Credits)
		require.Equal(t, "basic", expected.Feature)
	})

	t.Run("given any version when customers are made then bodies are JSON about one id each, of about Stripe's sizes, in order of time", func(t *testing.T) {
		t.Parallel()
		for _, version := range []string{Clover, Old} {
			seen := map[string]bool{}
			for n := range 20 {
				events, _ := Generator{Version: version}.Customer(n, All...)
				last := int64(0)
				for _, e := range events {
					var body struct {
						ID      string
						Type    string
						Version string `json:"api_version"`
					}
					require.NoError(t, json.Unmarshal(e.Body, &body))
					require.Equal(t, e.ID, body.ID)
					require.Equal(t, e.Type, body.Type)
					require.Equal(t, version, body.Version)
					require.False(t, seen[e.ID], e.ID)
					seen[e.ID] = true
					require.GreaterOrEqual(t, e.Created, last)
					last = e.Created
				}
			}
		}
		for kind, size := range map[string]int{
			"customer.subscription.updated": 3400, "invoice.paid": 4500, "charge.succeeded": 2900, "payment_intent.succeeded": 1900, "checkout.session.completed": 3600,
		} {
			events, _ := Generator{}.Customer(1, First)
			for _, e := range events {
				if e.Type == kind {
					require.InDelta(t, size, len(e.Body), 500, kind)
				}
			}
		}
	})
}

func TestBurst(t *testing.T) {
	t.Parallel()

	t.Run("given many customers when they come in a burst then every event is there once, and customers are mixed", func(t *testing.T) {
		t.Parallel()
		burst, expected := Generator{}.Burst(rand.New(rand.NewPCG(1, 1)), 5, 30, All...)
		require.Len(t, expected, 30)
		seen, changes := map[string]bool{}, 0
		for i, e := range burst {
			seen[e.ID] = true
			if i > 0 && burst[i-1].Customer != e.Customer {
				changes++
			}
		}
		one, _ := Generator{}.Customer(5, All...)
		require.Len(t, seen, 30*len(one))
		require.Greater(t, changes, len(burst)/2)
	})

	t.Run("given a burst when some of it is repeated then the second time is never before the first", func(t *testing.T) {
		t.Parallel()
		rng := rand.New(rand.NewPCG(1, 1))
		burst, _ := Generator{}.Burst(rng, 0, 20, First)
		more := Repeat(rng, burst, 0.2)
		require.InDelta(t, 1.2*float64(len(burst)), len(more), 0.08*float64(len(burst)))
		first := map[string]int{}
		for i, e := range more {
			if _, ok := first[e.ID]; !ok {
				first[e.ID] = i
			}
		}
		require.Len(t, first, len(burst))
	})
}
