package facts_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestWhyAccess(t *testing.T) {
	t.Parallel()
	type reason struct {
		Granted                             bool
		Reason                              string
		Subscription, Status, Event, EvType string
		Delivered                           bool
	}
	why := func(t *testing.T, db *pgtest.DB, user, feature string) []reason {
		t.Helper()
		rows, err := db.Pool.Query(t.Context(), `
			select granted, reason, coalesce(subscription_id, ''), coalesce(status, ''), coalesce(event_id, ''), coalesce(event_type, ''), delivered_at is not null
			from paidonce.why_access($1, $2)`, user, feature)
		require.NoError(t, err)
		reasons, err := pgx.CollectRows(rows, pgx.RowToStructByPos[reason])
		require.NoError(t, err)
		return reasons
	}
	const created = "customer.subscription.created"
	for name, tc := range map[string]struct {
		object obj
		want   reason
	}{
		"given access": {subscription("sub_1", "active", "pro"),
			reason{true, "price price_pro of the subscription grants it", "sub_1", "active", "evt_1", created, true}},
		"given an unpaid subscription": {subscription("sub_1", "unpaid", "pro"),
			reason{false, "the subscription names it, but its status is unpaid", "sub_1", "unpaid", "evt_1", created, true}},
		"given voided invoices": {subscription("sub_1", "active", "pro").with(obj{"pause_collection": obj{"behavior": "void"}}),
			reason{false, "the subscription names it, but collection is paused and invoices are voided", "sub_1", "active", "evt_1", created, true}},
		"given it has ended": {subscription("sub_1", "canceled", "pro").with(obj{"ended_at": now - 1}),
			reason{false, "the subscription names it, but it has ended", "sub_1", "canceled", "evt_1", created, true}},
		"given its scheduled end has passed": {subscription("sub_1", "active", "pro").with(obj{"cancel_at": now - 1}),
			reason{false, "the subscription names it, but its scheduled end has passed", "sub_1", "active", "evt_1", created, true}},
		"given another feature": {subscription("sub_1", "active", "basic", "addon"),
			reason{false, "none of its prices names it; they name addon, basic", "sub_1", "active", "evt_1", created, true}},
	} {
		t.Run(name+" when why is asked then the answer leads back to event and delivery", func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			db.Exec(t, linked)
			given(t, db, event("evt_1", created, 0, tc.object))
			require.Equal(t, []reason{tc.want}, why(t, db, "u1", "pro"))
			require.Equal(t, tc.want.Granted, has(t, db, "u1", "pro"))
		})
	}

	t.Run("given a stranger, a customer without subscription and a deleted customer when why is asked then it says so", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		require.Equal(t, []reason{{Reason: "no customer is linked to this user: see paidonce.link_customer"}}, why(t, db, "u1", "pro"))
		db.Exec(t, linked)
		require.Equal(t, "the customer has no subscription", why(t, db, "u1", "pro")[0].Reason)
		given(t, db, event("evt_1", created, 0, subscription("sub_1", "active", "pro")), event("evt_2", "customer.deleted", 5, customer("cus_1", obj{})))
		require.Equal(t, "the subscription names it, but its customer was deleted", why(t, db, "u1", "pro")[0].Reason)
	})

	t.Run("given one subscription that grants and one that does not when why is asked then the one that grants comes first", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		db.Exec(t, linked)
		given(t, db, event("evt_1", created, 0, subscription("sub_1", "unpaid", "pro")), event("evt_2", created, 0, subscription("sub_2", "active", "pro")))
		reasons := why(t, db, "u1", "pro")
		require.Len(t, reasons, 2)
		require.Equal(t, "sub_2", reasons[0].Subscription)
		require.True(t, reasons[0].Granted)
		require.False(t, reasons[1].Granted)
	})

	t.Run("given a signed-in user when why is asked then it is refused", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		asUser(t, db, "u1", func(tx pgx.Tx) {
			_, err := tx.Exec(t.Context(), "select paidonce.why_access('u1', 'pro')")
			require.ErrorContains(t, err, "42501")
		})
	})
}
