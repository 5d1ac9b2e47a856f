package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestNotAnEvent(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	for name, body := range map[string]string{
		"no data.object":            `{"id":"evt_1","object":"event","type":"invoice.paid","data":{}}`,
		"an empty array":            `[]`,
		"null":                      `null`,
		"an empty object":           `{}`,
		"no id":                     `{"object":"event","type":"invoice.paid","data":{"object":{"id":"in_1"}}}`,
		"a number as id":            `{"id":5,"type":"invoice.paid","data":{"object":{"id":"in_1"}}}`,
		"no type":                   `{"id":"evt_1","data":{"object":{"id":"in_1"}}}`,
		"a list as data.object":     `{"id":"evt_1","type":"invoice.paid","data":{"object":[]}}`,
		"a list of events":          `[{"id":"evt_1","type":"invoice.paid","data":{"object":{}}}]`,
		"text that is no JSON":      `id=evt_1`,
		"nothing":                   ``,
		"JSON and something behind": `{"id":"evt_1","type":"invoice.paid","data":{"object":{}}} {}`,
	} {
		t.Run("given "+name+" when it is signed and delivered then 400 and nothing is written", func(t *testing.T) {
			a := s.deliverTo(s.url, secret, []byte(body))
			require.Equal(t, 400, a.Status, a)
			require.NotEmpty(t, a.Error)
			require.Zero(t, s.count("paidonce.events")+s.count("paidonce.deliveries"))
		})
	}
}

// A thin event carries no object: it can only be the reason to fetch one.
func TestThinEvent(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thin := func(kind, object, id string) event {
		e := newEvent(kind, 0, fields{})
		return e.with(fields{"object": "v2.core.event", "data": nil, "related_object": fields{"id": id, "type": object}})
	}

	t.Run("given a thin event of a resource that is kept when it is delivered then it asks for a refetch and does nothing else", func(t *testing.T) {
		b := newBuyer()
		e := thin("v1.customer.updated", "customer", b.customer)
		s.requireAnswer("200 processed", e)
		s.requireAnswer("200 duplicate", e)
		require.Equal(t, 1, s.count("paidonce.outbox"))
		require.Equal(t, 1, s.count("paidonce.outbox where event_id = $1 and coalesce_key = $2", e.id, "refetch:"+b.customer))
		require.Zero(t, s.count("app.runs")+s.count("paidonce.subscriptions"))
		s.requireSound()
	})

	t.Run("given a thin event of anything else when it is delivered then 200 ignored", func(t *testing.T) {
		before := s.count("paidonce.outbox")
		s.requireAnswer("200 ignored", thin("v2.billing.meter.error_report_triggered", "billing.meter", fresh("mtr")))
		require.Equal(t, before, s.count("paidonce.outbox"))
		s.requireSound()
	})
}

func TestNobodyWaitsForIt(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	for _, kind := range []string{"balance.available", "foo.bar"} {
		t.Run("given "+kind+" when it is delivered then 200 ignored with the reason, and no effect", func(t *testing.T) {
			e := newEvent(kind, 0, fields{"object": "balance"})
			s.requireAnswer("200 ignored", e)
			s.requireAnswer("200 duplicate", e)
			require.Equal(t, "no handler for "+kind, pgtest.One[string](t, s.db, "select error from paidonce.events where event_id = $1", e.id))
			require.Zero(t, s.count("paidonce.outbox")+s.count("app.runs"))
			s.requireSound()
		})
	}
}

func TestNotForThisInstallation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, setting string
		change        fields
		outcome       string
	}{
		{"a live installation and a test event", "livemode = true", fields{"livemode": false}, "ignored"},
		{"a live installation and a live event", "livemode = true", fields{"livemode": true}, "processed"},
		{"a test installation and a live event", "livemode = false", fields{"livemode": true}, "ignored"},
		{"a test installation and a test event", "livemode = false", fields{"livemode": false}, "processed"},
		{"a live installation and no livemode", "livemode = true", fields{"livemode": nil}, "ignored"},
		{"a test installation and no livemode", "livemode = false", fields{"livemode": nil}, "ignored"},
		{"an installation that takes both and no livemode", "livemode = null", fields{"livemode": nil}, "processed"},
		{"an account of ours and an event of another", "account = 'acct_ours'", fields{"account": "acct_other"}, "ignored"},
		{"an account of ours and an event of none", "account = 'acct_ours'", fields{}, "ignored"},
		{"an account of ours and an event of it", "account = 'acct_ours'", fields{"account": "acct_ours"}, "processed"},
		{"no account set and an event of any", "account = null", fields{"account": "acct_other"}, "processed"},
	} {
		t.Run("given "+c.name+" when it is delivered then "+c.outcome, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			s.db.Exec(t, "update paidonce.settings set "+c.setting)
			e := newBuyer().subscribed("created", "active", 0).with(c.change)
			s.requireAnswer("200 "+c.outcome, e)
			s.requireAnswer("200 duplicate", e)
			done := 0
			if c.outcome == "processed" {
				done = 1
			}
			require.Equal(t, done, s.count("paidonce.subscriptions"))
			require.Equal(t, done, s.count("app.runs"))
			require.Equal(t, done == 0, pgtest.One[bool](t, s.db, "select error is not null from paidonce.events where event_id = $1", e.id))
			s.requireSound()
		})
	}

	t.Run("given an event ignored for its mode when the setting is corrected and it comes again then it is processed", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.db.Exec(t, "update paidonce.settings set livemode = true")
		e := newBuyer().subscribed("created", "active", 0)
		s.requireAnswer("200 ignored", e)
		s.db.Exec(t, "update paidonce.settings set livemode = false")
		s.requireAnswer("200 processed", e)
		s.requireSound()
	})
}
