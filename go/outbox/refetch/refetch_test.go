package refetch_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/go/outbox/refetch"
	"github.com/paidonce/paidonce/go/outboxtest"
	"github.com/paidonce/paidonce/internal/testing/fakehttp"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

const status = "select status || ' ' || coalesce(data ->> 'note', '-') from paidonce.subscriptions where subscription_id = 'sub_1'"

func TestTruth(t *testing.T) {
	t.Parallel()
	now := time.Now()

	t.Run("given a stale updated event when the object is refetched then Stripe's state is kept, with every field", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		d.stripe.Put("", subscription("active", object{"note": "true", "field_of_the_future": object{"deep": []any{1.5, nil, "<ü>"}}}))
		d.handle(event("evt_1", "customer.subscription.updated", now, subscription("past_due")))
		require.Equal(t, "past_due -", pgtest.One[string](t, d.db, status))
		d.requireSent("subscription", "sub_1", "")
		require.Equal(t, "active true", pgtest.One[string](t, d.db, status))
		require.JSONEq(t, `{"deep":[1.5,null,"<ü>"]}`, pgtest.One[string](t, d.db, "select data ->> 'field_of_the_future' from paidonce.subscriptions"))
		r := d.stripe.Requests("GET", "/")[0]
		require.Empty(t, r.Header.Values("Stripe-Version"), "the account's own version")
		require.Empty(t, r.Header.Values("Stripe-Account"))
	})

	t.Run("given an event that lands during the GET when the answer is applied then it says moved, and the next one is right", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		d.stripe.Put("", subscription("active"))
		d.handle(event("evt_1", "customer.subscription.updated", now.Add(-time.Minute), subscription("trialing")))
		d.stripe.OnAnswer(func(string) {
			d.stripe.OnAnswer(nil)
			d.stripe.Change("", "sub_1", object{"status": "past_due"})
			d.handle(event("evt_2", "customer.subscription.updated", now, subscription("past_due")))
		})
		verdict, said := d.ask("subscription", "sub_1", "")
		require.Equal(t, "retry after 0s", verdict, said)
		require.Equal(t, "past_due -", pgtest.One[string](t, d.db, status), "the answer is older than the event and was not applied")
		require.Equal(t, 1, pgtest.One[int](t, d.db, "select count(*) from paidonce.outbox where status = 'pending'"))
		d.requireSent("subscription", "sub_1", "")
		require.Equal(t, "past_due -", pgtest.One[string](t, d.db, status))
	})

	t.Run("given two refetches when the older answer arrives last then the newer stands", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		d.stripe.Put("", subscription("trialing"))
		d.handle(event("evt_1", "customer.subscription.created", now.Add(-time.Minute), subscription("incomplete")))
		held, release := make(chan struct{}), make(chan struct{})
		d.stripe.OnAnswer(func(string) {
			d.stripe.OnAnswer(nil)
			close(held)
			<-release
		})
		late := make(chan string)
		go func() {
			_, err := d.send(context.Background(), row("subscription", "sub_1", ""))
			late <- outboxtest.Verdict(err)
		}()
		<-held
		d.stripe.Change("", "sub_1", object{"status": "active"})
		d.requireSent("subscription", "sub_1", "")
		close(release)
		require.Equal(t, "retry after 0s", <-late)
		require.Equal(t, "active -", pgtest.One[string](t, d.db, status))
	})

	t.Run("given Stripe's clock ahead of its Date when the answer is dated too early then it is asked again, and at last let go", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		d.stripe.Put("", subscription("active"))
		d.handle(event("evt_1", "customer.subscription.updated", now, subscription("past_due")))
		d.stripe.Skew(-time.Minute)
		verdict, _ := d.ask("subscription", "sub_1", "")
		require.Equal(t, "retry after 2s", verdict)
		a := row("subscription", "sub_1", "")
		a.Attempt = 4
		response, err := d.send(t.Context(), a)
		require.NoError(t, err)
		require.Contains(t, string(response), `"older"`)
		d.stripe.Skew(0)
		d.requireSent("subscription", "sub_1", "")
		require.Equal(t, "active -", pgtest.One[string](t, d.db, status))
	})

	t.Run("given a connected account when its object is refetched then it is asked in its name and kept in it", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		d.stripe.Put("acct_1", subscription("active"))
		d.stripe.Put("acct_1", object{"id": "prod_1", "object": "product", "name": "Pro", "livemode": false})
		d.requireSent("subscription", "sub_1", "acct_1")
		d.requireSent("product", "prod_1", "acct_1")
		for _, r := range d.stripe.Requests("GET", "/") {
			require.Equal(t, "acct_1", r.Header.Get("Stripe-Account"))
		}
		require.Equal(t, "acct_1 acct_1", pgtest.One[string](t, d.db, "select s.account || ' ' || p.account from paidonce.subscriptions as s, paidonce.products as p"))
	})

	t.Run("given text that jsonb cannot hold when it is refetched then it is kept with replacements", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		d.stripe.Put("", subscription("active"))
		d.stripe.Break(fakehttp.Fault{Status: 200, Header: map[string]string{"Date": now.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")},
			Body: `{"id":"sub_1","object":"subscription","customer":"cus_1","status":"active","note":"a\u0000b\ud800c","big":12345678901234567890.5,"x\u0000":1}`})
		d.requireSent("subscription", "sub_1", "")
		require.Equal(t, "active a\uFFFDb\uFFFDc", pgtest.One[string](t, d.db, status))
		require.Equal(t, "12345678901234567890.5", pgtest.One[string](t, d.db, "select data ->> 'big' from paidonce.subscriptions"))
	})

	t.Run("given a transaction pooler's exec mode when an object is refetched then it works", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		pool, err := database.Open(t.Context(), d.db.Login(t, "paidonce_worker"), database.Options{PoolerMode: true})
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		d.send = d.sender(refetch.Options{DB: pool})
		d.stripe.Put("", subscription("active"))
		d.requireSent("subscription", "sub_1", "")
		require.Equal(t, "active -", pgtest.One[string](t, d.db, status))
	})
}

func TestGone(t *testing.T) {
	t.Parallel()
	for kind, tc := range map[string]struct{ object, want string }{
		"customer":     {`{"id":"x_1","object":"customer","email":"a@example.com","livemode":false}`, "select deleted || ' ' || email from paidonce.customers"},
		"subscription": {`{"id":"x_1","object":"subscription","customer":"cus_1","status":"active","livemode":false}`, "select (status = 'canceled' and ended_at is not null) || ' ' || customer_id from paidonce.subscriptions"},
		"product":      {`{"id":"x_1","object":"product","name":"Pro","livemode":false}`, "select deleted || ' ' || name from paidonce.products"},
		"price":        {`{"id":"x_1","object":"price","currency":"eur","livemode":false}`, "select deleted || ' ' || currency from paidonce.prices"},
		"invoice":      {`{"id":"x_1","object":"invoice","customer":"cus_1","status":"draft","livemode":false}`, "select (status = 'void') || ' ' || customer_id from paidonce.invoices"},
	} {
		for _, gone := range []bool{true, false} {
			name := map[bool]string{true: "answered with 404", false: "answered as deleted"}[gone]
			t.Run("given a "+kind+" that is "+name+" when it is refetched then it stays, marked", func(t *testing.T) {
				t.Parallel()
				d := open(t)
				var o object
				require.NoError(t, json.Unmarshal([]byte(tc.object), &o))
				d.stripe.Put("", o)
				d.requireSent(kind, "x_1", "")
				require.Equal(t, "f", pgtest.One[string](t, d.db, tc.want)[:1])
				d.stripe.Delete("", "x_1", gone)
				d.requireSent(kind, "x_1", "")
				require.Regexp(t, `^true .+`, pgtest.One[string](t, d.db, tc.want))
			})
		}
	}

	t.Run("given a key of the other mode when Stripe says 404 for that then nothing is marked as deleted", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		d.stripe.Put("", subscription("active", object{"livemode": true}))
		d.handle(event("evt_1", "customer.subscription.updated", time.Now().Add(-time.Minute), subscription("active")))
		verdict, said := d.ask("subscription", "sub_1", "")
		require.Equal(t, "retry after 1m0s", verdict)
		require.Contains(t, said, "other mode")
		require.Equal(t, "active -", pgtest.One[string](t, d.db, status))
	})

	t.Run("given a 404 that is not of an object when it is answered then nothing is marked as deleted", func(t *testing.T) {
		t.Parallel()
		d := open(t)
		for _, body := range []string{"<html>", `{"error":{"type":"invalid_request_error","message":"Unrecognized request URL"}}`} {
			d.stripe.Break(fakehttp.Fault{Status: 404, Body: body})
			verdict, _ := d.ask("subscription", "sub_1", "")
			require.NotEqual(t, "sent", verdict)
		}
		require.Zero(t, pgtest.One[int](t, d.db, "select count(*) from paidonce.subscriptions"))
	})
}

func TestTrouble(t *testing.T) {
	t.Parallel()
	d := open(t)
	said := func(kind, message string) string {
		return `{"error":{"type":"` + kind + `","message":"` + message + `"}}`
	}
	for name, tc := range map[string]struct {
		fault   fakehttp.Fault
		account string
		want    string
		says    string
	}{
		"500":                     {fakehttp.Fault{Status: 500, Body: said("api_error", "oops")}, "", "retry", "oops"},
		"503 with Retry-After":    {fakehttp.Fault{Status: 503, Header: map[string]string{"Retry-After": "8"}}, "", "retry after 8s", "503"},
		"a page of HTML":          {fakehttp.Fault{Status: 200, Body: "<html>"}, "", "retry", "no JSON"},
		"a list instead":          {fakehttp.Fault{Status: 200, Body: "[]"}, "", "retry", "no JSON"},
		"null":                    {fakehttp.Fault{Status: 200, Body: "null"}, "", "retry", "no JSON"},
		"a lost reply":            {fakehttp.Fault{Drop: true, Times: 2}, "", "retry", "no answer"},
		"no Date":                 {fakehttp.Fault{Header: map[string]string{"Date": "soon"}}, "", "retry", "Date"},
		"a redirect":              {fakehttp.Fault{Status: 302, Header: map[string]string{"Location": "/"}}, "", "retry", "302"},
		"400":                     {fakehttp.Fault{Status: 400, Body: said("invalid_request_error", "bad")}, "", "dead", "bad"},
		"401":                     {fakehttp.Fault{Status: 401, Body: said("invalid_request_error", "Invalid API Key: "+apiKey)}, "", "retry after 1m0s", "STRIPE_SECRET_KEY, sk_test_…"},
		"403 for the platform":    {fakehttp.Fault{Status: 403, Body: said("invalid_request_error", "needs rak_subscription_read")}, "", "retry after 1m0s", "rak_subscription_read"},
		"403 for another account": {fakehttp.Fault{Status: 403, Body: said("invalid_request_error", "no access")}, "acct_9", "retry after 1m0s", "acct_9"},
	} {
		t.Run("given "+name+" then "+tc.want, func(t *testing.T) {
			d.stripe.Mend()
			d.stripe.Put(tc.account, subscription("active"))
			d.stripe.Break(tc.fault)
			verdict, response := d.ask("subscription", "sub_1", tc.account)
			require.Equal(t, tc.want, verdict, response)
			require.Contains(t, response, tc.says)
			require.NotContains(t, response, apiKey)
		})
	}

	t.Run("given an answer that does not end when the time is up then it is tried again", func(t *testing.T) {
		d.stripe.Mend()
		d.stripe.Break(fakehttp.Fault{Slow: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := d.send(ctx, row("subscription", "sub_1", ""))
		require.Equal(t, "retry", outboxtest.Verdict(err))
	})

	t.Run("given a payload that names nothing that is kept then it is final", func(t *testing.T) {
		for _, payload := range []string{`{}`, `[]`, `{"object":"balance","id":"x"}`, `{"object":"subscription"}`} {
			_, err := d.send(t.Context(), outboxtest.Action("stripe.refetch", "k", payload))
			require.Equal(t, "dead", outboxtest.Verdict(err), payload)
		}
	})

	t.Run("given no key when a sender is made then that is told apart", func(t *testing.T) {
		_, _, err := refetch.New(refetch.Options{DB: d.db.Pool, Key: " "})
		require.ErrorIs(t, err, refetch.ErrNoKey)
		for _, o := range []refetch.Options{{Key: "k"}, {DB: d.db.Pool, Key: "k", BaseURL: "x"}, {DB: d.db.Pool, Key: "k", Rate: -1}, {DB: d.db.Pool, Key: "k", Timeout: -1}} {
			_, _, err := refetch.New(o)
			require.ErrorContains(t, err, "refetch: ")
		}
	})
}
