package facts_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/deliver/stripesign"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestLinks(t *testing.T) {
	t.Parallel()
	const owner = "select coalesce(string_agg(customer_id || ' ' || coalesce(user_id, 'nobody'), ',' order by customer_id), 'none') from paidonce.customers"
	const flagged = "select coalesce(string_agg(customer_id || ' ' || user_id, ',' order by user_id), 'none') from paidonce.link_conflicts"
	userID := func(user string) obj { return obj{"metadata": obj{"user_id": user}} }

	tellAll(t, "", map[string]story{
		"given a customer of u1 when a subscription names u2 then u1 stays and u2 is flagged and gains nothing": {
			setup: linked,
			events: []string{
				event("evt_1", "customer.subscription.updated", 0, subscription("sub_1", "active", "pro").with(userID("u2"))),
				event("evt_2", "customer.updated", 1, customer("cus_1", obj{"user_id": "u1"})),
			},
			then: []fact{
				{owner, "cus_1 u1"}, {flagged, "cus_1 u2"}, {features, "pro"},
				{"select count(*)::text from paidonce.entitlements where user_id = 'u2'", "0"},
			},
			audit: "link_contradicted",
		},
		"given three ways to name one user when all have arrived then one link and no contradiction": {
			events: []string{
				event("evt_1", "customer.created", 0, customer("cus_1", obj{"user_id": "u1"})),
				event("evt_2", "customer.subscription.created", 0, subscription("sub_1", "active", "pro").with(userID("u1"))),
				event("evt_3", "checkout.session.completed", 0, checkout("cs_1", "subscription")),
			},
			then: []fact{{owner, "cus_1 u1"}, {flagged, "none"}, {features, "pro"}},
		},
		"given two customers of one user when each is checked out then both are the user's": {
			events: []string{
				event("evt_1", "checkout.session.completed", 0, checkout("cs_A", "subscription").with(obj{"customer": "cus_A"})),
				event("evt_2", "checkout.session.completed", 0, checkout("cs_B", "subscription").with(obj{"customer": "cus_B"})),
				event("evt_3", "customer.subscription.created", 0, subscription("sub_A", "active", "pro").with(obj{"customer": "cus_A"})),
				event("evt_4", "customer.subscription.created", 0, subscription("sub_B", "active", "basic").with(obj{"customer": "cus_B"})),
			},
			then: []fact{{owner, "cus_A u1,cus_B u1"}, {flagged, "none"}, {features, "basic,pro"}},
		},
		"given guests and an expanded customer when their events arrive then nobody is made up and the object is read": {
			events: []string{
				event("evt_1", "payment_method.attached", 0, obj{"id": "pm_1", "object": "payment_method", "customer": nil}),
				event("evt_2", "checkout.session.completed", 0, checkout("cs_1", "payment").with(obj{"customer": nil})),
				event("evt_3", "invoice.paid", 0, invoice("in_1", "paid", 1000).with(obj{"customer": customer("cus_1", obj{})})),
			},
			then: []fact{{owner, "cus_1 nobody"}, {"select customer_id from paidonce.invoices", "cus_1"}, {"select user_id from paidonce.checkout_sessions", "u1"}},
		},
		"given an intent that names another user than the customer's when both have arrived then the customer's user has the credits": {
			events: []string{
				event("evt_1", "payment_intent.succeeded", 0, intent("pi_1", "succeeded", obj{"credits": "50", "user_id": "u2"})),
				event("evt_2", "checkout.session.completed", 0, checkout("cs_9", "setup").with(obj{"payment_status": "no_payment_required"})),
			},
			then: []fact{{balance, "50"}},
		},
	})

	t.Run("given a user who is deleted when later events of the customer arrive then they are kept and nothing cascades", func(t *testing.T) {
		db := pgtest.New(t)
		const user = "3f0c8d1e-58ab-4b62-9a1a-0d3f5d6c7b8a"
		db.Exec(t, "insert into auth.users (id) values ('"+user+"')")
		db.Exec(t, hundred)
		db.Exec(t, "select paidonce.link_customer('cus_1', '"+user+"')")
		given(t, db, event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))))
		db.Exec(t, "delete from auth.users")
		given(t, db, event("evt_2", "customer.updated", 1, customer("cus_1", obj{})), event("evt_3", "customer.deleted", 2, customer("cus_1", obj{})))
		require.Equal(t, "3,1,1", pgtest.One[string](t, db, `
			select concat_ws(',', (select count(*) from paidonce.events where status = 'processed'), (select count(*) from paidonce.credit_entries), (select count(*) from paidonce.customers where deleted))`))
	})

	t.Run("given an invoice that waits for its customer's user when the link is made by hand then it runs by itself", func(t *testing.T) {
		db := pgtest.New(t)
		db.Exec(t, hundred)
		e := event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1)))
		outcome, err := handle(t.Context(), db.Pool, e)
		require.NoError(t, err)
		require.Equal(t, "parked", outcome)
		require.Equal(t, "", pgtest.One[string](t, db, audit), "nobody is wronged while nobody owns it")
		db.Exec(t, linked)
		pgtest.RunDue(t, db.Pool)
		require.Equal(t, "100", pgtest.One[string](t, db, balance))
		require.Equal(t, "processed link", pgtest.One[string](t, db, "select outcome || ' ' || source from paidonce.deliveries order by delivery_id desc limit 1"))
	})
}

// What has to be answered with 200, or Stripe would go on for days.
func TestHTTP(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	db.Exec(t, hundred)
	db.Exec(t, exampleApp(t))
	pool, err := database.Open(t.Context(), db.Login(t, "paidonce_edge"), database.Options{MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	handler, err := webhook.New(webhook.Options{Secrets: []string{"whsec_facts"}, DB: pool, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)

	for _, step := range []struct{ name, event, want string }{
		{"given an invoice whose customer maps to nobody when it is delivered then 200", event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))), "200 parked"},
		{"given the same again when it is delivered then 200", event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))), "200 parked"},
		{"given the checkout that maps it when it is delivered then 200", event("evt_2", "checkout.session.completed", 0, checkout("cs_1", "subscription")), "200 processed"},
		{"given the invoice once more when it is delivered then it is a duplicate", event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))), "200 duplicate"},
		{"given a price and a subscription never seen when it is delivered then 200", event("evt_3", "customer.subscription.created", 0, subscription("sub_1", "active", "unheard")), "200 processed"},
		{"given a deleted subscription when it is delivered then 200", event("evt_4", "customer.subscription.deleted", 9, subscription("sub_1", "canceled", "unheard").with(obj{"ended_at": now})), "200 processed"},
		{"given its invoice that fails afterwards when it is delivered then 200", event("evt_5", "invoice.payment_failed", 10, invoice("in_2", "open", 1000)), "200 processed"},
		{"given a one-off invoice when it is delivered then 200", event("evt_6", "invoice.paid", 10, invoice("in_3", "paid", 1000).with(obj{"parent": nil})), "200 processed"},
		{"given a deleted customer when it is delivered then 200", event("evt_7", "customer.deleted", 11, customer("cus_1", obj{})), "200 processed"},
		{"given an invoice of the deleted customer when it is delivered then 200", event("evt_8", "invoice.paid", 12, invoice("in_4", "paid", 1000)), "200 processed"},
		{"given a guest's payment method when it is delivered then 200", event("evt_9", "payment_method.attached", 0, obj{"id": "pm_1", "object": "payment_method", "customer": nil}), "200 ignored"},
		{"given an expanded customer when it is delivered then 200", event("evt_10", "invoice.paid", 0, invoice("in_5", "paid", 1000).with(obj{"customer": customer("cus_1", obj{})})), "200 processed"},
		{"given a refund in a closed month when it is delivered then 500, to come again", event("evt_11", "charge.refunded", 0, charge(500)), "500 failed"},
	} {
		t.Run(step.name, func(t *testing.T) {
			if strings.HasPrefix(step.want, "500") {
				db.Exec(t, "insert into app.books (month, closed) values (date_trunc('month', to_timestamp($1::bigint) at time zone 'UTC')::date, true)", now)
			}
			request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(step.event)).WithContext(context.WithoutCancel(t.Context()))
			request.Header.Set(stripesign.Header, stripesign.Sign([]byte(step.event), "whsec_facts", time.Now()))
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request)
			pgtest.RunDue(t, db.Pool)
			var answer struct{ Outcome string }
			require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &answer))
			require.Equal(t, step.want, sprintf("%d %s", recorder.Code, answer.Outcome), recorder.Body.String())
		})
	}
}
