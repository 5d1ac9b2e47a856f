package traffic

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

const (
	begin = 1764547200 // 2025-12-01 00:00:00 UTC
	day   = 86400
	month = 30 * day
)

// customer is one customer while its stories are told.
type customer struct {
	version string
	rng     *rand.Rand
	number  int
	now     int64 // seconds
	events  []Event

	id, user, email, card string

	subscription, itemID, status, latest string
	subscribed, from, to                 int64
	plan                                 plan
	firstPayment                         *payment

	credits int64
}

func newCustomer(g Generator, n int) *customer {
	c := &customer{
		version: g.Version, rng: rand.New(rand.NewPCG(g.Seed, uint64(n))), number: n,
		now: begin + int64(n%3600)*11, user: fmt.Sprintf("user-%d-%d", g.Seed, n), email: fmt.Sprintf("buyer%d@example.com", n),
	}
	if c.version == "" {
		c.version = Clover
	}
	c.id, c.card = c.newID("cus_T", 13), c.newID("pm_1Tr", 18)
	return c
}

func (c *customer) old() bool { return c.version == Old }

// newID makes an id like Stripe's: its order says nothing of when it was made. The number keeps two customers
// of one generator apart for certain.
func (c *customer) newID(prefix string, letters int) string {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var id strings.Builder
	id.WriteString(prefix)
	for range letters - 6 {
		id.WriteByte(alphabet[c.rng.IntN(len(alphabet))])
	}
	// Six letters hold 56 billion numbers.
	for n, i := c.number, 0; i < 6; i, n = i+1, n/len(alphabet) {
		id.WriteByte(alphabet[n%len(alphabet)])
	}
	return id.String()
}

// emit adds an event about an object as it is now; previous is what a change says the object was.
func (c *customer) emit(eventType string, object, previous fields) {
	data := fields{"object": object}
	if previous != nil {
		data["previous_attributes"] = previous
	}
	id := c.newID("evt_1Tr", 18)
	body, err := json.Marshal(fields{
		"id": id, "object": "event", "api_version": c.version, "created": c.now, "livemode": true, "pending_webhooks": 1, "type": eventType, "data": data,
		"request": fields{"id": nil, "idempotency_key": fmt.Sprintf("%08x-0000-4000-8000-%012x", c.rng.Uint32(), c.number)},
	})
	if err != nil {
		panic(err) // values of this package
	}
	c.events = append(c.events, Event{ID: id, Type: eventType, Customer: c.id, Created: c.now, Body: body})
}

func (c *customer) wait(seconds int64) { c.now += seconds }

func (c *customer) expectation() Expectation {
	e := Expectation{Customer: c.id, User: c.user, Subscription: c.subscription, Status: c.status, Credits: c.credits}
	if c.subscription != "" {
		e.Price = c.plan.price
	}
	if c.status == "active" {
		e.Feature = c.plan.key
	}
	return e
}
