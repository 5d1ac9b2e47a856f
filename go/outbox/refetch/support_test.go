package refetch_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/refetch"
	"github.com/paidonce/paidonce/go/outboxtest"
	"github.com/paidonce/paidonce/internal/testing/fakestripe"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestMain(m *testing.M) { pgtest.MainWithoutLeaks(m) }

const apiKey = "sk_test_hush"

type object = fakestripe.Object

// desk is a database, a Stripe, and a sender between them that has a worker's rights only.
type desk struct {
	t      *testing.T
	db     *pgtest.DB
	stripe *fakestripe.Server
	send   outbox.Sender
}

func open(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, db: pgtest.New(t)}
	var err error
	d.stripe, err = fakestripe.Start(apiKey)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.stripe.Close()) })
	d.send = d.sender(refetch.Options{})
	return d
}

// sender makes one more sender, with what the options leave open filled in.
func (d *desk) sender(o refetch.Options) outbox.Sender {
	d.t.Helper()
	if o.DB == nil {
		o.DB = poolAs(d.t, d.db, "paidonce_worker")
	}
	if o.Rate == 0 {
		o.Rate = 1000
	}
	if o.Key == "" {
		o.Key = apiKey
	}
	o.BaseURL = d.stripe.URL() + "/"
	send, _, err := refetch.New(o)
	require.NoError(d.t, err)
	return send
}

// event is one that Stripe would send of an object as it was at a time.
func event(id, kind string, created time.Time, o object) string {
	text, err := json.Marshal(object{
		"id": id, "object": "event", "type": kind, "created": created.Unix(), "livemode": false, "api_version": "2025-08-27.basil", "data": object{"object": o},
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (d *desk) handle(body string) {
	d.t.Helper()
	require.Equal(d.t, "processed", pgtest.One[string](d.t, d.db, "select public.handle_stripe_event($1::jsonb) ->> 'outcome'", body))
}

// ask sends one row as a worker would and returns what becomes of it.
func (d *desk) ask(kind, id, account string) (verdict, response string) {
	d.t.Helper()
	text, err := d.send(d.t.Context(), row(kind, id, account))
	return outboxtest.Verdict(err), string(text) + fmt.Sprint(err)
}

func row(kind, id, account string) outbox.Action {
	payload := object{"object": kind, "id": id}
	if account != "" {
		payload["account"] = account
	}
	text, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	return outboxtest.Action("stripe.refetch", "evt_1:stripe.refetch:"+id, string(text))
}

func (d *desk) requireSent(kind, id, account string) {
	d.t.Helper()
	verdict, said := d.ask(kind, id, account)
	require.Equal(d.t, "sent", verdict, said)
}

func subscription(status string, more ...object) object {
	o := object{
		"id": "sub_1", "object": "subscription", "customer": "cus_1", "status": status, "livemode": false,
		"items": object{"object": "list", "has_more": false, "data": items(1)},
	}
	for _, m := range more {
		for name, value := range m {
			o[name] = value
		}
	}
	return o
}

func items(n int) []any {
	var all []any
	for i := range n {
		all = append(all, object{
			"id": fmt.Sprintf("si_%03d", i), "object": "subscription_item", "quantity": i + 1,
			"price":                object{"id": fmt.Sprintf("price_%03d", i), "object": "price", "product": "prod_1"},
			"current_period_start": 1750000000, "current_period_end": 1760000000,
		})
	}
	return all
}
