package facts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// crowd fills the tables with 20,000 customers with one subscription each, of fifty prices, every second one of them archived.
const crowd = `
insert into paidonce.customers (customer_id, user_id, linked_at) select 'cus_' || n, 'u' || n, now() from generate_series(1, 20000) as n;
insert into paidonce.subscriptions (subscription_id, customer_id, status, as_of_rank, data)
select 'sub_' || n, 'cus_' || n, 'active', 1, '{}' from generate_series(1, 20000) as n;
insert into paidonce.subscription_items (subscription_id, item_id, price_id, product_id, quantity)
select 'sub_' || n, 'si_' || n, 'price_' || n % 50, 'prod_' || n % 50, 1 from generate_series(1, 20000) as n;
insert into paidonce.prices (price_id, product_id, lookup_key, as_of_rank, active) select 'price_' || n, 'prod_' || n, 'key' || n, 1, n % 2 = 0 from generate_series(0, 49) as n;
insert into paidonce.products (product_id, features, as_of_rank, active) select 'prod_' || n, array['product' || n], 1, n % 2 = 0 from generate_series(0, 49) as n;
insert into paidonce.price_grants (price_id, feature) select 'price_' || n, 'mapped' || n from generate_series(0, 49) as n;
insert into paidonce.entitlement_summaries (customer_id, features, as_of_rank) select 'cus_' || n, array['stripe' || n % 50], 1 from generate_series(1, 20000) as n;
insert into paidonce.credit_entries (amount, customer_id, user_id, kind, source_key) select 5, 'cus_' || n, 'u' || n, 'grant', 'x' || n from generate_series(1, 20000) as n;
analyze paidonce.customers, paidonce.subscriptions, paidonce.subscription_items, paidonce.prices, paidonce.products, paidonce.price_grants,
    paidonce.entitlement_summaries, paidonce.credit_entries`

// large are the tables that grow with the number of customers.
var large = []string{"customers", "subscriptions", "subscription_items", "entitlement_summaries", "credit_entries"}

func TestAccessSpeed(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	db.Exec(t, crowd)

	t.Run("given 20000 customers when one user reads entitlements and balance then no plan that runs scans a large table", func(t *testing.T) {
		for _, query := range []string{
			"select * from paidonce.entitlements where user_id = 'u777'",
			"select * from paidonce.entitlements",
			"select * from paidonce.credit_balances where user_id = 'u777'",
			"select * from paidonce.subscription_access where user_id = 'u777'",
		} {
			asUser(t, db, "u777", func(tx pgx.Tx) {
				rows, err := tx.Query(t.Context(), "explain (analyze, costs off, timing off, summary off) "+query)
				require.NoError(t, err)
				plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
				require.NoError(t, err)
				for _, node := range plan {
					for _, table := range large {
						// A user without the condition on user_id is still one user: the policies alone must lead to an index.
						if query == "select * from paidonce.entitlements" && table != "subscription_items" {
							continue
						}
						scanned := strings.Contains(node, "Seq Scan on "+table+" ") && !strings.Contains(node, "never executed")
						require.False(t, scanned, "%s\n%s", query, strings.Join(plan, "\n"))
					}
				}
			})
		}
	})

	t.Run("given 20000 customers when one user asks has_access then index scans alone answer", func(t *testing.T) {
		for feature, want := range map[string]bool{"key27": true, "product27": true, "mapped27": true, "stripe27": true, "key28": false, "none": false} {
			require.Equal(t, want, has(t, db, "u777", feature), feature)
		}
		asUser(t, db, "u777", func(tx pgx.Tx) {
			_, err := tx.Exec(t.Context(), "select paidonce.has_access('mapped27'), paidonce.has_access('none')")
			require.NoError(t, err)
			rows, err := tx.Query(t.Context(), "select relname from pg_stat_xact_user_tables where schemaname = 'paidonce' and seq_scan > 0 order by 1")
			require.NoError(t, err)
			scanned, err := pgx.CollectRows(rows, pgx.RowTo[string])
			require.NoError(t, err)
			for _, table := range large {
				require.NotContains(t, scanned, table, fmt.Sprint(scanned))
			}
		})
	})
}
