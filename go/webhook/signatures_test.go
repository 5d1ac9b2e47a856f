package webhook_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	stripe "github.com/stripe/stripe-go/v76/webhook"

	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/deliver/stripesign"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestSignatures(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	now := time.Now()
	n := 0
	next := func() string { n++; return customerEvent(fmt.Sprintf("evt_sig_%d", n)) }

	accepted := func(t *testing.T, h http.Handler, body string, headers ...string) {
		t.Helper()
		before := events(t, db)
		require.Equal(t, 200, serve(t, h, unsigned(body, headers...)).Status)
		require.Equal(t, before+1, events(t, db))
	}
	h := newHandler(t, webhook.Options{DB: db.Pool})

	for name, header := range map[string]func(good string) []string{
		"a bad v1 before the good one": func(good string) []string { return []string{fmt.Sprintf("t=%d,v1=00,v1=%s", now.Unix(), good)} },
		"a bad v1 after the good one":  func(good string) []string { return []string{fmt.Sprintf("t=%d,v1=%s,v1=00", now.Unix(), good)} },
		"a junk v0 beside a good v1":   func(good string) []string { return []string{fmt.Sprintf("t=%d,v0=junk,v1=%s", now.Unix(), good)} },
		"the good v1 on a second line": func(good string) []string { return []string{fmt.Sprintf("t=%d,v1=00", now.Unix()), "v1=" + good} },
		"two whole lines of one second": func(good string) []string {
			l := fmt.Sprintf("t=%d,v1=", now.Unix())
			return []string{l + "00", l + good}
		},
		"schemes that are yet to come":   func(good string) []string { return []string{fmt.Sprintf("t=%d,v2=x,v1=%s,v9=", now.Unix(), good)} },
		"the signature before its time":  func(good string) []string { return []string{fmt.Sprintf("v1=%s,t=%d", good, now.Unix())} },
		"the same time stated two times": func(good string) []string { return []string{fmt.Sprintf("t=%d,t=%[1]d,v1=%s", now.Unix(), good)} },
	} {
		t.Run("given "+name+" when posted then 200", func(t *testing.T) {
			body := next()
			accepted(t, h, body, header(signature(body, secret, now))...)
		})
	}

	for _, offset := range []time.Duration{-290 * time.Second, 290 * time.Second} {
		t.Run(fmt.Sprintf("given a signature %s off when posted then 200", offset), func(t *testing.T) {
			body := next()
			accepted(t, h, body, stripesign.Sign([]byte(body), secret, now.Add(offset)))
		})
	}

	t.Run("given a clock of the owner's when the signature fits that clock then 200", func(t *testing.T) {
		then := time.Unix(1_600_000_000, 0)
		h := newHandler(t, webhook.Options{DB: db.Pool, Now: func() time.Time { return then }})
		body := next()
		accepted(t, h, body, stripesign.Sign([]byte(body), secret, then))
	})

	t.Run("given a secret pasted with spaces and a newline when signed with the clean one then 200", func(t *testing.T) {
		h := newHandler(t, webhook.Options{DB: db.Pool, Secrets: []string{" " + secret + " \r\n"}})
		body := next()
		accepted(t, h, body, stripesign.Sign([]byte(body), secret, now))
	})

	t.Run("given two secrets when one event comes under both at once then two 200 and one row, and a third secret gets 400", func(t *testing.T) {
		h := newHandler(t, webhook.Options{DB: db.Pool, Secrets: []string{"whsec_a, whsec_b"}})
		body := next()
		before := events(t, db)
		replies := make([]reply, 2)
		var group sync.WaitGroup
		for i, s := range []string{"whsec_a", "whsec_b"} {
			group.Go(func() { replies[i] = serve(t, h, unsigned(body, stripesign.Sign([]byte(body), s, now))) })
		}
		group.Wait()
		require.Equal(t, []int{200, 200}, []int{replies[0].Status, replies[1].Status})
		require.ElementsMatch(t, []string{"processed", "duplicate"}, []string{replies[0].Outcome, replies[1].Outcome})
		require.Equal(t, 400, serve(t, h, unsigned(body, stripesign.Sign([]byte(body), "whsec_c", now))).Status)
		require.Equal(t, before+1, events(t, db))
	})

	t.Run("given only a v0 that is correctly made when posted then 400 and no row", func(t *testing.T) {
		body := next()
		before := events(t, db)
		v0 := stripe.GenerateTestSignedPayload(&stripe.UnsignedPayload{Payload: []byte(body), Secret: secret, Scheme: "v0"}).Header
		require.Equal(t, 400, serve(t, h, unsigned(body, v0)).Status)
		require.Equal(t, before, events(t, db))
	})
}
