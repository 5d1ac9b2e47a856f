// Package traffic makes the events that a shop's customers cause: whole purchases with everything that Stripe
// sends about them, in the shapes and about the sizes that Stripe sends, with an expectation of what each
// customer must have in the end. The same seed always makes the same events. It is for the bench and for tests;
// it knows nothing of the database but the rows of Setup.
package traffic

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Setup is SQL that makes the plans' prices worth credits. It must run before any event does.
const Setup = `
	insert into paidonce.price_grants (price_id, credits) values ('price_trafficBasic', 100), ('price_trafficPlus', 250)
	on conflict do nothing`

// API versions that events can be made in.
const (
	Clover = "2025-11-17.clover"
	Old    = "2020-08-27" // payments name their invoice, subscriptions have the period themselves
)

// Event is one event of Stripe's, as it is delivered.
type Event struct {
	ID, Type, Customer string
	Created            int64
	Body               []byte
}

// Expectation is what a customer must have after all its events, in whatever order they came.
type Expectation struct {
	Customer, User, Subscription string
	Status, Price                string // of the subscription; empty without one
	Feature                      string // what the user has access to; empty for none
	Credits                      int64  // the balance
}

// Story is something that happens to a customer.
type Story int

// First must come before Renewal, Refund and Recovery; whoever leaves it out gets it all the same.
const (
	First    Story = iota // checkout of a subscription, paid at once
	Renewal               // an upgrade within the period, then a renewal that bills it
	Refund                // the first payment refunded in two parts
	Pack                  // a pack of credits bought once, disputed, and the dispute won
	Recovery              // a renewal that fails, and is paid later
	Purchase              // a pack of credits bought once, and nothing else
)

// All stories, in an order in which they can happen to one customer.
var All = []Story{First, Renewal, Refund, Pack, Recovery}

// Generator makes customers. The zero value is useful.
type Generator struct {
	Seed    uint64
	Version string // Clover when empty
}

// Customer returns the events of customer n in the order in which Stripe made them.
func (g Generator) Customer(n int, stories ...Story) ([]Event, Expectation) {
	c := newCustomer(g, n)
	c.emit("customer.created", c.object(), nil)
	for _, story := range stories {
		if story != Pack && story != Purchase && story != First {
			c.first()
		}
		switch story {
		case First:
			c.first()
		case Renewal:
			c.renewal()
		case Refund:
			c.refund()
		case Pack:
			c.pack(true)
		case Purchase:
			c.pack(false)
		case Recovery:
			c.recovery()
		default:
			panic(fmt.Sprintf("there is no story %d", story))
		}
	}
	return c.events, c.expectation()
}

// together is how many customers' events are on their way at the same time. Stripe sends all events of a
// purchase within seconds, so those of one customer meet each other much more often than chance would have it.
const together = 16

// Burst returns the events of many customers as they may arrive: those of each customer in any order, between
// those of others. Customers have the numbers from `from` on.
func (g Generator) Burst(rng *rand.Rand, from, customers int, stories ...Story) ([]Event, []Expectation) {
	var waiting [][]Event
	var expected []Expectation
	total := 0
	for n := range customers {
		events, e := g.Customer(from+n, stories...)
		rng.Shuffle(len(events), func(i, k int) { events[i], events[k] = events[k], events[i] })
		waiting, expected, total = append(waiting, events), append(expected, e), total+len(events)
	}
	burst := make([]Event, 0, total)
	for len(waiting) > 0 {
		at := rng.IntN(min(together, len(waiting)))
		burst = append(burst, waiting[at][0])
		if waiting[at] = waiting[at][1:]; len(waiting[at]) == 0 {
			waiting = slices.Delete(waiting, at, at+1)
		}
	}
	return burst, expected
}

// Repeat returns the events with some of them given again, a share of all, somewhere after their first time.
func Repeat(rng *rand.Rand, events []Event, share float64) []Event {
	type placed struct {
		at    float64
		event Event
	}
	all := make([]placed, 0, len(events))
	for i, e := range events {
		all = append(all, placed{float64(i), e})
		if rng.Float64() < share {
			all = append(all, placed{float64(i) + 30*rng.Float64(), e})
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	out := make([]Event, len(all))
	for i, p := range all {
		out[i] = p.event
	}
	return out
}
