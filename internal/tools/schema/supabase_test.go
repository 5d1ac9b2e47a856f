package schema

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestSupabaseProject(t *testing.T) {
	t.Parallel()

	t.Run("given the schema paths of the project when followed then they name the declared schema in its order", func(t *testing.T) {
		t.Parallel()
		root := os.DirFS(repository)
		config, err := fs.ReadFile(root, "supabase/config.toml")
		require.NoError(t, err)
		list := regexp.MustCompile(`(?s)schema_paths = \[(.*?)\]`).FindSubmatch(config)
		require.NotNil(t, list)
		var named []string
		for _, quoted := range regexp.MustCompile(`"([^"]+)"`).FindAllSubmatch(list[1], -1) {
			found, err := fs.Glob(root, path.Join("supabase", string(quoted[1])))
			require.NoError(t, err)
			named = append(named, found...)
		}
		declared, err := declaredPaths(root)
		require.NoError(t, err)
		require.Equal(t, declared, named)
	})

	t.Run("given the seed when it is run twice then there is one subscription of one user", func(t *testing.T) {
		t.Parallel()
		seed, err := os.ReadFile(repository + "/supabase/seed.sql")
		require.NoError(t, err)
		db := pgtest.New(t)
		for range 2 {
			db.Exec(t, string(seed))
		}
		require.Equal(t, "processed processed", pgtest.One[string](t, db, "select string_agg(status, ' ') from paidonce.events"))
		require.Equal(t, "sub_seed active 00000000-0000-4000-8000-000000000001 price_seed", pgtest.One[string](t, db, `
			select concat_ws(' ', s.subscription_id, s.status, c.user_id, i.price_id)
			from paidonce.subscriptions as s
			join paidonce.customers as c using (customer_id)
			join paidonce.subscription_items as i using (subscription_id)`))
		require.Equal(t, "processed duplicate", strings.Join([]string{
			pgtest.One[string](t, db, "select outcome from paidonce.deliveries where event_id = 'evt_seed_customer' order by delivery_id limit 1"),
			pgtest.One[string](t, db, "select outcome from paidonce.deliveries where event_id = 'evt_seed_customer' order by delivery_id desc limit 1"),
		}, " "))
	})
}
