package demo

import (
	"embed"
	"fmt"

	"github.com/paidonce/paidonce/internal/deliver"
)

// Events of our own making, in the shape of API version 2025-08-27.basil.
//
//go:embed events/*.json
var eventFiles embed.FS

// episode is one event of the story and what it must leave behind.
type episode struct {
	event     deliver.Event
	effect    string // what one row of effectSQL is
	effectSQL string // counts all rows of that kind, not only this event's: a second one cannot hide
	action    string // of its outbox row
}

func load(file, effect, effectSQL, action string) (episode, error) {
	body, err := eventFiles.ReadFile("events/" + file)
	if err != nil {
		return episode{}, fmt.Errorf("read event: %w", err)
	}
	events, err := deliver.Parse(body)
	if err != nil {
		return episode{}, fmt.Errorf("read event %s: %w", file, err)
	}
	return episode{event: events[0], effect: effect, effectSQL: effectSQL, action: action}, nil
}

// purchases are the events of one checkout, in the order in which the demo sends them.
func purchases() ([]episode, error) {
	var all []episode
	for _, p := range [][4]string{
		{"1_checkout.json", "linked customer",
			`select count(*) from paidonce.customers where user_id is not null`, "email.welcome"},
		{"2_subscription.json", "active subscription",
			`select count(*) from paidonce.subscriptions as s join paidonce.subscription_items as i using (subscription_id) where s.status = 'active'`,
			"stripe.refetch"},
		{"3_invoice_paid.json", "receipt", `select count(*) from app.receipts`, "email.receipt"},
	} {
		e, err := load(p[0], p[1], p[2], p[3])
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// booking is the event whose effect fails while the bookkeeping service is down.
func booking() (episode, error) {
	return load("4_invoice_finalized.json", "booking", `select count(*) from app.bookings`, "http.bookkeeping")
}

// refunds are the events that name the invoice's payment and take half of it back.
func refunds() ([]episode, error) {
	var all []episode
	for _, file := range []string{"5_invoice_payment.json", "6_charge_refunded.json", "7_refund.json"} {
		e, err := load(file, "", "", "")
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}
