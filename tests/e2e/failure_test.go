package e2e_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestEffectFails(t *testing.T) {
	t.Parallel()

	t.Run("given an effect that raises when the event is delivered then 500 and no trace of any effect, and once mended it has its effect once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := s.linked()
		e := b.paid(fresh("in"))
		s.db.Exec(t, "create trigger broken before insert on app.grants for each row execute function app.out_of_order()")
		for range 3 {
			s.requireAnswer("500 failed", e)
		}
		require.Equal(t, "failed", s.status(e))
		require.Equal(t, "P0001: the effect is out of order", pgtest.One[string](t, s.db,
			"select sqlstate || ': ' || error from paidonce.events where event_id = $1", e.id))
		require.Zero(t, s.count("app.grants"))
		require.Zero(t, s.count("app.runs where event_id = $1", e.id), "effects before the one that failed are undone, too")
		require.Zero(t, s.count("paidonce.outbox where event_id = $1", e.id))
		s.requireSound()

		s.db.Exec(t, "drop trigger broken on app.grants")
		s.requireAnswer("200 processed", e)
		s.requireAnswer("200 duplicate", e)
		require.Equal(t, 1, s.count("app.grants"))
		require.Equal(t, 1, s.count("paidonce.outbox where event_id = $1 and action = 'email.receipt'", e.id))
		require.Equal(t, 4, pgtest.One[int](t, s.db, "select attempts from paidonce.events where event_id = $1", e.id))
		require.True(t, pgtest.One[bool](t, s.db,
			"select error is null and sqlstate is null and context is null from paidonce.events where event_id = $1", e.id))
		s.requireSound()
	})

	t.Run("given a built-in table that refuses when its event is delivered then the effects of the owner's are undone with it", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := newBuyer()
		e := b.subscribed("created", "active", 0)
		s.db.Exec(t, "create trigger broken before insert on paidonce.subscription_items for each row execute function app.out_of_order()")
		s.requireAnswer("500 failed", e)
		require.Zero(t, s.count("paidonce.subscriptions")+s.count("paidonce.outbox")+s.count("app.runs"))
		s.db.Exec(t, "drop trigger broken on paidonce.subscription_items")
		s.requireAnswer("200 processed", e)
		s.requireSound()
	})

	t.Run("given a deferred constraint that an effect breaks when the event is delivered then it is kept as failed", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.db.Exec(t, `
			create table app.plans (invoice_id text primary key);
			alter table app.grants add foreign key (invoice_id) references app.plans deferrable initially deferred`)
		b := s.linked()
		e := b.paid(fresh("in"))
		s.requireAnswer("500 failed", e)
		require.Equal(t, "23503", pgtest.One[string](t, s.db, "select sqlstate from paidonce.events where event_id = $1", e.id))
		s.requireSound()
	})

	t.Run("given an effect that relies on a deferred constraint when its event also runs a parked one then both are processed", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.db.Exec(t, `
			create table app.parents (id text primary key);
			create table app.children (id text references app.parents deferrable initially deferred);
			create function app.child_first(event jsonb) returns void language plpgsql volatile set search_path = '' as $$
			begin
				insert into app.children values (event ->> 'id');
				insert into app.parents values (event ->> 'id');
			end $$;
			select paidonce.on('checkout.session.completed', 'app.child_first(jsonb)');`)
		b := newBuyer()
		invoice := b.paid(fresh("in"))
		s.requireAnswer("200 parked", invoice)
		s.requireAnswer("200 processed", b.checkout())
		require.Equal(t, "processed", s.status(invoice))
		s.requireSound()
	})

	t.Run("given a parked event that breaks a deferred constraint when its customer is linked then the link stands and the event is failed", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.db.Exec(t, `
			create table app.plans (invoice_id text primary key);
			alter table app.grants add foreign key (invoice_id) references app.plans deferrable initially deferred`)
		b := newBuyer()
		e := b.paid(fresh("in"))
		s.requireAnswer("200 parked", e)
		s.requireAnswer("200 processed", b.checkout())
		require.Equal(t, "failed", s.status(e))
		s.db.Exec(t, "insert into app.plans select $1", e.object())
		s.requireAnswer("200 processed", e)
		s.requireSound()
	})

	t.Run("given an effect that fails at random when events are delivered in parallel until each is done then each has its effect once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.db.Exec(t, `
			create function app.moody() returns trigger language plpgsql as $$
			begin
				if random() < 0.5 then raise exception 'not today'; end if;
				return new;
			end $$;
			create trigger moody before insert on app.grants for each row execute function app.moody()`)
		b := s.linked()
		for range 15 {
			e := b.paid(fresh("in"))
			for s.status(e) != "processed" {
				for _, a := range s.parallel(e, e, e, e) {
					require.Contains(t, []string{"200 processed", "200 duplicate", "500 failed"}, a.String())
				}
			}
		}
		require.Equal(t, 15, s.count("app.grants"))
		s.requireSound()
	})
}

func TestRowHeldForLong(t *testing.T) {
	t.Parallel()
	for table, key := range map[string]string{"customers": "customer_id", "subscriptions": "subscription_id"} {
		t.Run("given somebody holds the row in "+table+" when the event arrives then 503 in good time, and one effect after the release", func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			b := s.linked()
			s.requireAnswer("200 processed", b.subscribed("created", "active", 0))
			id := map[string]string{"customers": b.customer, "subscriptions": b.subscription}[table]
			held := s.begin(pgx.ReadCommitted)
			_, err := held.Exec(t.Context(), "select from paidonce."+table+" where "+key+" = $1 for update", id)
			require.NoError(t, err)

			e := b.subscribed("updated", "past_due", 1)
			began := time.Now()
			answers := s.parallel(e, e, e)
			require.Less(t, time.Since(began), 8*time.Second)
			for _, a := range answers {
				require.Equal(t, 503, a.Status, a)
			}
			require.Empty(t, s.status(e))
			require.Zero(t, s.count("pg_stat_activity where usename = 'paidonce_edge' and datname = current_database() and state like 'idle in transaction%'"))

			require.NoError(t, held.Rollback(t.Context()))
			s.requireAnswer("200 processed", e)
			s.requireAnswer("200 duplicate", e)
			require.Equal(t, 1, s.count("app.runs where event_id = $1", e.id))
			s.requireSound()
		})
	}
}
