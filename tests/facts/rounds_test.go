package facts_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// rounds of row 70: enough for every pair of the four to meet at every lock.
const rounds = 200

// renumber gives a story's objects and events ids of a round of their own.
func renumber(round int, events ...string) []string {
	var pairs []string
	for _, id := range []string{"evt_1", "evt_2", "evt_3", "evt_4", "cus_1", "sub_1", "in_1", "cs_1", "pi_1", "ch_1", "re_1", `"u1"`} {
		pairs = append(pairs, id, strings.Replace(id, "1", fmt.Sprintf("1x%d", round), 1))
		if strings.HasPrefix(id, "evt") {
			pairs[len(pairs)-1] = fmt.Sprintf("%sx%d", id, round)
		}
	}
	replacer := strings.NewReplacer(pairs...)
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = replacer.Replace(e)
	}
	return out
}

// spend takes credits in a transaction of the user's own, again while Postgres asks for it.
func spend(ctx context.Context, pool *pgxpool.Pool, user string, amount int, key string) error {
	for {
		_, err := pool.Exec(ctx, "select paidonce.spend_credits($1, $2, $3)", user, amount, key)
		if !again(err) {
			return err
		}
	}
}

// tooLittle says whether spending was refused because the balance is too small.
func tooLittle(err error) bool {
	var failure *pgconn.PgError
	return errors.As(err, &failure) && failure.Code == "PO402"
}

func TestRounds(t *testing.T) {
	t.Parallel()

	t.Run("given a subscription, its invoice, its checkout and the user's own spending when they meet 200 times then nothing is lost and all ends right", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		db.Exec(t, hundred)
		for round := range rounds {
			user := fmt.Sprintf("u1x%d", round)
			events := renumber(round,
				event("evt_1", "customer.subscription.updated", 1, subscription("sub_1", "active", "pro")),
				event("evt_2", "invoice.paid", 1, invoice("in_1", "paid", 1000, line("pro", 1000, 1))),
				event("evt_3", "checkout.session.completed", 1, checkout("cs_1", "subscription").with(obj{"invoice": "in_1"})),
			)
			var spent bool
			require.NoError(t, together(4, func(i int) error {
				if i < len(events) {
					return untilDone(t.Context(), db.Pool, events[i])
				}
				err := spend(t.Context(), db.Pool, user, 30, "key")
				spent = err == nil
				if tooLittle(err) {
					return nil
				}
				return err
			}))
			pgtest.RunDue(t, db.Pool)
			want := 100
			if spent {
				want -= 30
			}
			require.Equal(t, want, pgtest.One[int](t, db, "select sum(balance)::int from paidonce.credit_balances where user_id = $1", user), "round %d", round)
		}
		require.Equal(t, rounds, pgtest.One[int](t, db, "select count(*) from paidonce.entitlements where feature = 'pro'"))
		require.Equal(t, 3*rounds, pgtest.One[int](t, db, "select count(*) from paidonce.events where status = 'processed'"))
		require.Empty(t, pgtest.One[string](t, db, audit))
	})

	t.Run("given two tabs of one user when both check out at once then both customers are the user's", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		for round := range 30 {
			events := renumber(round,
				event("evt_1", "checkout.session.completed", 0, checkout("cs_1", "subscription").with(obj{"customer": "cus_1A"})),
				event("evt_2", "checkout.session.completed", 0, checkout("cs_1B", "subscription").with(obj{"customer": "cus_1B"})),
			)
			require.NoError(t, together(2, func(i int) error { return untilDone(t.Context(), db.Pool, events[i]) }))
			require.Equal(t, 2, pgtest.One[int](t, db, "select count(*) from paidonce.customers where user_id = $1", fmt.Sprintf("u1x%d", round)))
		}
		require.Zero(t, pgtest.One[int](t, db, "select count(*) from paidonce.link_conflicts"))
	})

	t.Run("given one customer and two users when both check out at once then one owns it and the other is flagged", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		for round := range 30 {
			events := renumber(round,
				event("evt_1", "checkout.session.completed", 0, checkout("cs_1", "subscription")),
				event("evt_2", "checkout.session.completed", 0, checkout("cs_1B", "subscription").with(obj{"client_reference_id": "u2"})),
			)
			require.NoError(t, together(2, func(i int) error { return untilDone(t.Context(), db.Pool, events[i]) }))
		}
		require.Equal(t, 30, pgtest.One[int](t, db, "select count(*) from paidonce.customers as c join paidonce.link_conflicts as l using (customer_id) where c.user_id <> l.user_id"))
		require.Equal(t, 30, pgtest.One[int](t, db, "select count(*) from paidonce.audit where check_name = 'link_contradicted'"))
	})

	t.Run("given a purchase and its refund when they meet 60 times then each pair nets", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		db.Exec(t, hundred)
		for round := range 60 {
			events := renumber(round,
				event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1)).with(obj{"payment_intent": "pi_1"})),
				event("evt_2", "charge.refunded", 9, charge(500)),
				event("evt_3", "refund.created", 9, refund("re_1", "succeeded", 500)),
				event("evt_4", "checkout.session.completed", 0, checkout("cs_1", "subscription").with(obj{"invoice": "in_1"})),
			)
			require.NoError(t, together(len(events), func(i int) error { return untilDone(t.Context(), db.Pool, events[i]) }))
		}
		pgtest.RunDue(t, db.Pool)
		require.Equal(t, 60, pgtest.One[int](t, db, "select count(*) from paidonce.credit_balances where balance = 50"))
		require.Empty(t, pgtest.One[string](t, db, audit))
	})

	for name, later := range map[string]string{
		"its price":              event("evt_2", "price.created", 0, price("pro", obj{"credits": "100"})),
		"its product":            event("evt_2", "product.created", 0, product("pro", obj{"credits": "100"})),
		"its row in the mapping": "",
	} {
		t.Run("given a paid invoice and "+name+" when they meet 100 times then each line is granted", func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			for round := range 100 {
				own := strings.NewReplacer("price_pro", fmt.Sprintf("price_x%d", round), "prod_pro", fmt.Sprintf("prod_x%d", round))
				e := renumber(round, event("evt_1", "invoice.paid", 0, invoice("in_1", "paid", 1000, line("pro", 1000, 1))), later,
					event("evt_3", "price.created", 0, price("pro", obj{})))
				db.Exec(t, fmt.Sprintf("select paidonce.link_customer('cus_1x%d', 'u1x%d')", round, round))
				if name == "its product" {
					require.NoError(t, untilDone(t.Context(), db.Pool, own.Replace(e[2])))
				}
				require.NoError(t, together(2, func(i int) error {
					if i == 0 || later != "" {
						return untilDone(t.Context(), db.Pool, own.Replace(e[i]))
					}
					for {
						_, err := db.Pool.Exec(t.Context(), "insert into paidonce.price_grants (price_id, credits) values ($1, 100)", own.Replace("price_pro"))
						if !again(err) {
							return err
						}
					}
				}))
			}
			pgtest.RunDue(t, db.Pool)
			require.Equal(t, 100, pgtest.One[int](t, db, "select count(*) from paidonce.credit_balances where balance = 100"))
			require.Empty(t, pgtest.One[string](t, db, audit))
		})
	}
}
