package facts_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// asUser runs work as the signed-in user, the way the API does: it logs in as authenticator, which may become authenticated.
func asUser(t *testing.T, db *pgtest.DB, user string, work func(pgx.Tx)) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.URL("authenticator"))
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "set local role authenticated")
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "select set_config('request.jwt.claims', $1, true)", encode(obj{"sub": user, "role": "authenticated"}))
	require.NoError(t, err)
	work(tx)
}

// has asks paidonce.has_access as the signed-in user.
func has(t *testing.T, db *pgtest.DB, user, feature string) (yes bool) {
	t.Helper()
	asUser(t, db, user, func(tx pgx.Tx) {
		require.NoError(t, tx.QueryRow(t.Context(), "select paidonce.has_access($1)", feature).Scan(&yes))
	})
	return yes
}

func given(t *testing.T, db *pgtest.DB, events ...string) {
	t.Helper()
	for _, e := range events {
		require.NoError(t, untilDone(t.Context(), db.Pool, e))
		pgtest.RunDue(t, db.Pool)
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	active := func(id string, prices ...string) string {
		return event("evt_"+id, "customer.subscription.created", 0, subscription(id, "active", prices...))
	}

	for status, grants := range map[string]bool{
		"trialing": true, "active": true, "past_due": true,
		"incomplete": false, "incomplete_expired": false, "unpaid": false, "paused": false, "canceled": false,
	} {
		t.Run("given a subscription that is "+status+" when its user asks then the default rule holds", func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			db.Exec(t, linked)
			given(t, db, event("evt_1", "customer.subscription.updated", 0, subscription("sub_1", status, "pro")))
			require.Equal(t, grants, has(t, db, "u1", "pro"))

			db.Exec(t, "update paidonce.settings set access_statuses = array['trialing', 'active', 'past_due', 'incomplete', 'incomplete_expired', 'unpaid', 'paused', 'canceled']")
			require.True(t, has(t, db, "u1", "pro"), "with every status in the setting")
			db.Exec(t, "update paidonce.settings set access_statuses = '{}'")
			require.False(t, has(t, db, "u1", "pro"), "with none")
		})
	}

	for behavior, grants := range map[string]bool{"void": false, "keep_as_draft": true, "mark_uncollectible": true} {
		t.Run("given collection paused with "+behavior+" when its user asks then the rule holds", func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			db.Exec(t, linked)
			given(t, db, event("evt_1", "customer.subscription.updated", 0, subscription("sub_1", "active", "pro").with(obj{"pause_collection": obj{"behavior": behavior}})))
			require.Equal(t, grants, has(t, db, "u1", "pro"))
		})
	}

	for name, tc := range map[string]struct {
		fields obj
		grants bool
	}{
		"given an end scheduled ahead":        {obj{"cancel_at": now + day}, true},
		"given an end scheduled and passed":   {obj{"cancel_at": now - day}, false},
		"given a period end that has passed":  {obj{"current_period_start": now - 60*day, "current_period_end": now - 30*day}, true},
		"given it ended, whatever its status": {obj{"ended_at": now - 1}, false},
	} {
		t.Run(name+" when its user asks then the rule holds", func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			db.Exec(t, linked)
			given(t, db, event("evt_1", "customer.subscription.updated", 0, subscription("sub_1", "active", "pro").with(tc.fields)))
			require.Equal(t, tc.grants, has(t, db, "u1", "pro"))
		})
	}

	t.Run("given subscriptions of several customers when one ends then the others go on, and a stranger has nothing", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		db.Exec(t, linked+"; select paidonce.link_customer('cus_2', 'u1'); select paidonce.link_customer('cus_3', 'u2')")
		of := func(customer, id string, prices ...string) obj {
			return subscription(id, "active", prices...).with(obj{"customer": customer})
		}
		given(t, db, active("sub_1", "pro", "addon"),
			event("evt_2", "customer.subscription.created", 0, of("cus_2", "sub_2", "pro")),
			event("evt_3", "customer.subscription.created", 0, of("cus_3", "sub_3", "basic")))
		for feature, want := range map[string]bool{"pro": true, "addon": true, "basic": false} {
			require.Equal(t, want, has(t, db, "u1", feature), feature)
		}
		given(t, db, event("evt_4", "customer.subscription.deleted", 9, subscription("sub_1", "canceled", "pro", "addon").with(obj{"ended_at": now - 1})))
		require.True(t, has(t, db, "u1", "pro"), "through the other customer")
		require.False(t, has(t, db, "u1", "addon"))
		require.True(t, has(t, db, "u2", "basic"))
		require.False(t, has(t, db, "u3", "basic"))
		asUser(t, db, "u1", func(tx pgx.Tx) {
			rows, err := tx.Query(t.Context(), `
				select distinct user_id from paidonce.entitlements
				union all select distinct user_id from paidonce.customers
				union all select distinct c.user_id from paidonce.subscriptions as s join paidonce.customers as c using (customer_id)`)
			require.NoError(t, err)
			users, err := pgx.CollectRows(rows, pgx.RowTo[string])
			require.NoError(t, err)
			require.Equal(t, []string{"u1", "u1", "u1"}, users, "own rows alone")
			var subscriptions int
			require.NoError(t, tx.QueryRow(t.Context(), "select count(*) from paidonce.subscriptions").Scan(&subscriptions))
			require.Equal(t, 2, subscriptions)
		})
	})

	t.Run("given nobody is signed in when has_access is asked then no", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		db.Exec(t, linked)
		given(t, db, active("sub_1", "pro"))
		for _, user := range []string{"", "u2", "U1", "u1 "} {
			require.False(t, has(t, db, user, "pro"), user)
		}
		require.False(t, pgtest.One[bool](t, db, "select paidonce.has_access('pro')"))
	})

	t.Run("given a price and product archived and deleted when its holder asks then access stays and a stranger cannot read them", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		db.Exec(t, linked)
		bare := list(obj{"id": "si_1", "object": "subscription_item", "quantity": 1, "price": obj{"id": "price_old", "product": "prod_old"}})
		given(t, db, event("evt_1", "customer.subscription.created", 0, subscription("sub_1", "active").with(obj{"items": bare})),
			event("evt_2", "price.created", 0, price("old", obj{})), event("evt_3", "product.created", 0, product("old", obj{"feature": "legacy"})))
		db.Exec(t, "insert into paidonce.price_grants (price_id, feature) values ('price_old', 'mapped'), ('price_other', 'other')")
		check := func() {
			for _, feature := range []string{"old", "legacy", "mapped"} {
				require.True(t, has(t, db, "u1", feature), feature)
				require.False(t, has(t, db, "u2", feature), feature)
			}
			require.False(t, has(t, db, "u1", "other"))
		}
		check()
		given(t, db, event("evt_4", "price.updated", 5, price("old", obj{}).with(obj{"active": false})),
			event("evt_5", "product.updated", 5, product("old", obj{"feature": "legacy"}).with(obj{"active": false})))
		check()
		given(t, db, event("evt_6", "price.deleted", 9, price("old", obj{})), event("evt_7", "product.deleted", 9, product("old", obj{"feature": "legacy"})))
		check()
		for user, want := range map[string]int{"u1": 3, "u2": 0} {
			asUser(t, db, user, func(tx pgx.Tx) {
				var seen int
				require.NoError(t, tx.QueryRow(t.Context(), `
					select (select count(*) from paidonce.prices) + (select count(*) from paidonce.products) + (select count(*) from (select price_id, feature from paidonce.price_grants) as g)`).Scan(&seen))
				require.Equal(t, want, seen, user)
			})
		}
	})

	for name, tc := range map[string]struct {
		metadata obj
		want     string
	}{
		"given product metadata feature":              {obj{"feature": "export"}, "export,pro"},
		"given product metadata features":             {obj{"features": "export, api ,,api"}, "api,export,pro"},
		"given both":                                  {obj{"feature": "sso", "features": "export"}, "export,pro,sso"},
		"given neither":                               {obj{"other": "x"}, "pro"},
		"given the lookup key once more as a feature": {obj{"feature": "pro"}, "pro"},
	} {
		t.Run(name+" when entitlements are read then each name is there once", func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			db.Exec(t, linked)
			given(t, db, active("sub_1", "pro"), event("evt_2", "product.updated", 0, product("pro", tc.metadata)))
			require.Equal(t, tc.want, pgtest.One[string](t, db, strings.Replace(features, "distinct ", "", 1)))
		})
	}

	t.Run("given Stripe's entitlement summary when its user asks then it counts, and the list that goes on is asked for", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		db.Exec(t, linked)
		summary := func(id string, second int64, more bool, keys ...string) string {
			data := []any{}
			for _, key := range keys {
				data = append(data, obj{"object": "entitlements.active_entitlement", "lookup_key": key})
			}
			return event(id, "entitlements.active_entitlement_summary.updated", second, obj{
				"object": "entitlements.active_entitlement_summary", "customer": "cus_1", "livemode": false,
				"entitlements": list(data...).with(obj{"has_more": more}),
			})
		}
		// Two changes of the customer within one second ask for the customer itself: that must not stand for its summary.
		given(t, db, event("evt_1", "customer.updated", 0, customer("cus_1", obj{})), event("evt_2", "customer.updated", 0, customer("cus_1", obj{}).with(obj{"email": "b"})))
		given(t, db, summary("evt_4", 9, true, "sso", "audit"), summary("evt_3", 5, false, "old"))
		require.Equal(t, "audit,sso", pgtest.One[string](t, db, features))
		require.True(t, has(t, db, "u1", "sso"))
		require.False(t, has(t, db, "u2", "sso"))
		require.Equal(t, 1, pgtest.One[int](t, db, "select count(*) from paidonce.outbox where action = 'stripe.refetch' and payload ->> 'object' like 'entitlements%'"))
		given(t, db, summary("evt_5", 10, false))
		require.False(t, has(t, db, "u1", "sso"))
	})

	t.Run("given a recurring price told as price and as plan in one second when entitlements are read then its lookup key holds", func(t *testing.T) {
		t.Parallel()
		for _, kinds := range [][]string{{"price", "plan"}, {"plan", "price"}} {
			db := pgtest.New(t)
			plan := obj{"id": "price_pro", "object": "plan", "product": "prod_pro", "active": true, "amount": 1000, "metadata": obj{}}
			for i, kind := range kinds {
				object := plan
				if kind == "price" {
					object = price("pro", obj{})
				}
				given(t, db, event("evt_"+string(rune('a'+i)), kind+".created", 0, object))
			}
			require.Equal(t, "pro", pgtest.One[string](t, db, "select coalesce(lookup_key, 'none') from paidonce.prices"))
		}
	})
}
