package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	event := eventFile(t, "evt_1", "invoice.paid", invoice)
	// A port that no test gets: those of the system are not handed out.
	const closed = "127.0.0.1:1"
	down := at("postgres://paidonce:hush-hush@" + closed + "/app?sslmode=disable")
	empty := owner(pgtest.NewEmpty(t, cluster.Supabase))
	migrated := pgtest.New(t)

	for name, tc := range map[string]struct {
		env  []string
		args []string
		code int
		err  []string // all of it is said
	}{
		"given no database when listing then it says to set it":                  {nil, []string{"events", "list"}, 2, []string{"DATABASE_URL is empty", "next: set DATABASE_URL"}},
		"given no database when migrating then it says to set it":                {nil, []string{"migrate", "up"}, 2, []string{"DATABASE_URL is empty"}},
		"given no database when serving then it says to set it":                  {[]string{"STRIPE_WEBHOOK_SECRET=" + secret}, []string{"serve"}, 2, []string{"DATABASE_URL is empty"}},
		"given a broken database url when listing then no password is shown":     {at("postgres://u:hush-hush@h:port/d"), []string{"events", "list"}, 2, []string{"next: set DATABASE_URL"}},
		"given a database that is down when listing then it says to start it":    {down, []string{"events", "list"}, 1, []string{"connection refused", "next: nothing answers"}},
		"given a database that is down when migrating then it says to start":     {down, []string{"migrate", "up"}, 1, []string{"connection refused", "next: nothing answers"}},
		"given no schema when listing then it says to migrate":                   {empty, []string{"events", "list"}, 1, []string{"paidonce migrate up", "supabase db push"}},
		"given no schema when replaying then it says to migrate":                 {empty, []string{"events", "replay", "evt_1"}, 1, []string{"paidonce migrate up"}},
		"given the handler's kind of login when listing then it names the owner": {at(migrated.URL("authenticator")), []string{"events", "list"}, 1, []string{"next: this login may not"}},
		"given no secret when serving then it says where to find it":             {at("postgres://h/d"), []string{"serve"}, 2, []string{"STRIPE_WEBHOOK_SECRET is empty", "Signing secret"}},
		"given a blank secret when serving then it does not start":               {append(at("postgres://h/d"), "STRIPE_WEBHOOK_SECRET= "), []string{"serve"}, 2, []string{"STRIPE_WEBHOOK_SECRET"}},
		"given one blank among secrets when serving then it does not start":      {append(at("postgres://h/d"), "STRIPE_WEBHOOK_SECRET=whsec_a,"), []string{"serve", "--addr", "127.0.0.1:0"}, 2, []string{"STRIPE_WEBHOOK_SECRET"}},
		"given no secret when sending then it says which one":                    {nil, []string{"send", event}, 2, []string{"nothing to sign with"}},
		"given no such file when sending then it says so":                        {nil, send("http://"+closed, "none.json"), 2, []string{"none.json", "no such file"}},
		"given a url without a scheme when sending then it says how it looks":    {nil, send("127.0.0.1:1", event), 2, []string{"--url must be a full address"}},
		"given zero times when sending then it is refused":                       {nil, send("http://"+closed, "--times", "0", event), 2, []string{"at least 1"}},
		"given nobody listening when sending then it says to serve":              {nil, send("http://"+closed, event), 1, []string{"1 of 1 deliveries failed", "paidonce serve"}},
		"given an unknown command then it is wrong usage":                        {nil, []string{"pay"}, 2, []string{"next: run `paidonce --help`"}},
		"given an unknown status when listing then it names the known ones":      {nil, []string{"events", "list", "--status", "lost"}, 2, []string{"processed"}},
		"given a negative timeout when serving then it is refused":               {nil, []string{"serve", "--timeout=-1s"}, 2, []string{"above zero"}},
		"given an address in use when serving then it says to choose another":    {append(down, "STRIPE_WEBHOOK_SECRET="+secret), []string{"serve", "--addr", "127.0.0.1:99999"}, 2, []string{"--addr"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := execute(t, tc.env, tc.args...)
			require.Equal(t, tc.code, r.code, r.err)
			for _, part := range tc.err {
				require.Contains(t, r.err, part)
			}
			require.NotContains(t, r.out+r.err, "hush-hush")
			require.NotContains(t, r.out+r.err, secret)
		})
	}

	t.Run("given secrets in the environment when help is asked then none is shown", func(t *testing.T) {
		t.Parallel()
		env := append(down, "STRIPE_WEBHOOK_SECRET="+secret)
		for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"send", "--help"}, {"events", "list", "--help"}, {"migrate", "up", "--help"}} {
			out := succeed(t, env, args...)
			require.NotContains(t, out, "hush-hush")
			require.NotContains(t, out, secret)
		}
	})
}

func TestInit(t *testing.T) {
	t.Parallel()

	t.Run("given a supabase project when run twice then the migration is written once, after all others, and it says what is next", func(t *testing.T) {
		t.Parallel()
		project := t.TempDir()
		folder := filepath.Join(project, "supabase", "migrations")
		require.NoError(t, os.MkdirAll(folder, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "29990101000000_app.sql"), []byte("select 1;"), 0o644))

		out := succeed(t, nil, "init", "--dir", project)
		require.Contains(t, out, "29990101000001_paidonce_init.sql  written")
		require.Contains(t, out, "supabase db push")
		require.Contains(t, out, "STRIPE_WEBHOOK_SECRET")
		require.Contains(t, out, "/webhooks/stripe")
		written, err := os.ReadFile(filepath.Join(folder, "29990101000001_paidonce_init.sql"))
		require.NoError(t, err)
		require.Contains(t, string(written), "handle_stripe_event")

		out = succeed(t, nil, "init", "--dir", project)
		require.Contains(t, out, "29990101000001_paidonce_init.sql  there already")
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Len(t, entries, 2)
	})

	t.Run("given no project when run then it says what to do", func(t *testing.T) {
		t.Parallel()
		r := execute(t, nil, "init", "--dir", t.TempDir())
		require.Equal(t, 1, r.code)
		require.Contains(t, r.err, "supabase init")
	})

	t.Run("given no such folder when run then it is wrong usage", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, 2, execute(t, nil, "init", "--dir", filepath.Join(t.TempDir(), "none")).code)
	})
}
