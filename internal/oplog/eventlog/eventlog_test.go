package eventlog_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/internal/oplog/eventlog"
	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestMain(m *testing.M) { pgtest.MainWithoutLeaks(m) }

// receive hands the database an event as the handler does.
func receive(t *testing.T, db *pgtest.DB, id, eventType, customer string) {
	t.Helper()
	db.Exec(t, `select public.handle_stripe_event($1::jsonb)`, fmt.Sprintf(
		`{"id":%q,"object":"event","type":%q,"created":1764583200,"livemode":false,"data":{"object":{"id":"in_1","object":"invoice","customer":%q}}}`,
		id, eventType, customer))
}

// broken registers an effect for invoice.paid that asks for an e-mail and raises while the table app.broken has a row.
func broken(t *testing.T, db *pgtest.DB) {
	t.Helper()
	db.Exec(t, `
		create schema app;
		create table app.broken (reason text);
		insert into app.broken values ('no template');
		create function app.mail(event jsonb) returns void language plpgsql set search_path = '' as $$
		begin
			perform paidonce.enqueue(event, 'email.receipt', '{}');
			if exists (select from app.broken) then
				raise exception 'no template' using errcode = 'XX123';
			end if;
		end $$;
		select paidonce.on('invoice.paid', 'app.mail(jsonb)');`)
}

func ids(events []eventlog.Event) []string {
	got := []string{}
	for _, e := range events {
		got = append(got, e.EventID)
	}
	return got
}

func TestList(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	broken(t, db)
	receive(t, db, "evt_1", "customer.subscription.created", "cus_a")
	receive(t, db, "evt_2", "customer.subscription.updated", "cus_b")
	receive(t, db, "evt_3", "customer.subscriptions", "cus_a")
	receive(t, db, "evt_4", "invoice.paid", "cus_a")
	receive(t, db, "evt_4", "invoice.paid", "cus_a")

	for _, pooler := range []bool{false, true} {
		pool, err := database.Open(t.Context(), db.URL("postgres"), database.Options{PoolerMode: pooler})
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		for name, tc := range map[string]struct {
			filter eventlog.Filter
			want   []string
		}{
			"given no filter when listed then the latest come first":              {eventlog.Filter{Limit: 10}, []string{"evt_4", "evt_3", "evt_2", "evt_1"}},
			"given a limit when listed then only so many come":                    {eventlog.Filter{Limit: 2}, []string{"evt_4", "evt_3"}},
			"given a status when listed then only those come":                     {eventlog.Filter{Limit: 10, Status: "failed"}, []string{"evt_4"}},
			"given a type when listed then only that type comes":                  {eventlog.Filter{Limit: 10, Type: "customer.subscription.created"}, []string{"evt_1"}},
			"given a family when listed then its members and no namesakes come":   {eventlog.Filter{Limit: 10, Type: "customer.subscription.*"}, []string{"evt_2", "evt_1"}},
			"given the star when listed then every type comes":                    {eventlog.Filter{Limit: 1, Type: "*"}, []string{"evt_4"}},
			"given a customer and a status when listed then both must be so":      {eventlog.Filter{Limit: 10, Customer: "cus_a", Status: "ignored"}, []string{"evt_3"}},
			"given a percent sign as a type when listed then it is not a pattern": {eventlog.Filter{Limit: 10, Type: "%"}, []string{}},
		} {
			t.Run(fmt.Sprintf("pooler mode %t: %s", pooler, name), func(t *testing.T) {
				events, err := eventlog.List(t.Context(), pool, tc.filter)
				require.NoError(t, err)
				require.Equal(t, tc.want, ids(events))
			})
		}
	}

	t.Run("given a failed event when listed then it says why and how often it came", func(t *testing.T) {
		events, err := eventlog.List(t.Context(), db.Pool, eventlog.Filter{Limit: 1})
		require.NoError(t, err)
		e := events[0]
		require.Equal(t, []any{"failed", 2, 2, "no template", "XX123", "cus_a", "in_1", false},
			[]any{e.Status, e.Attempts, e.Deliveries, *e.Error, *e.SQLState, *e.CustomerID, *e.ObjectID, *e.Livemode})
		require.Nil(t, e.ProcessedAt)
		require.Equal(t, time.Unix(1764583200, 0).UTC(), e.Created.UTC())
	})
}

func TestShow(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	broken(t, db)
	receive(t, db, "evt_1", "invoice.paid", "cus_a")

	t.Run("given a failed event when shown then the place of the failure is there and no outbox row", func(t *testing.T) {
		d, err := eventlog.Show(t.Context(), db.Pool, "evt_1", false)
		require.NoError(t, err)
		require.Contains(t, *d.Context, "app.mail(jsonb)")
		require.Len(t, d.Deliveries, 1)
		require.Equal(t, "failed", d.Deliveries[0].Outcome)
		require.Empty(t, d.Outbox)
	})

	t.Run("given it was processed at last when shown then its deliveries are in order and its outbox row is there", func(t *testing.T) {
		db.Exec(t, `delete from app.broken`)
		receive(t, db, "evt_1", "invoice.paid", "cus_a")
		receive(t, db, "evt_1", "invoice.paid", "cus_a")
		d, err := eventlog.Show(t.Context(), db.Pool, "evt_1", false)
		require.NoError(t, err)
		var outcomes []string
		for _, delivery := range d.Deliveries {
			outcomes = append(outcomes, delivery.Outcome)
		}
		require.Equal(t, []string{"failed", "processed", "duplicate"}, outcomes)
		require.Len(t, d.Outbox, 1)
		require.Equal(t, "evt_1:email.receipt", d.Outbox[0].IdempotencyKey)
	})

	t.Run("given the payload is not asked for when shown then it is not there", func(t *testing.T) {
		d, err := eventlog.Show(t.Context(), db.Pool, "evt_1", false)
		require.NoError(t, err)
		require.Nil(t, d.Payload)
	})

	t.Run("given the payload is asked for when shown then it is the stored event", func(t *testing.T) {
		d, err := eventlog.Show(t.Context(), db.Pool, "evt_1", true)
		require.NoError(t, err)
		var event struct{ ID string }
		require.NoError(t, json.Unmarshal(d.Payload, &event))
		require.Equal(t, "evt_1", event.ID)
	})

	t.Run("given an unknown id when shown then it is not stored", func(t *testing.T) {
		_, err := eventlog.Show(t.Context(), db.Pool, "evt_none", false)
		require.ErrorIs(t, err, eventlog.ErrNotStored)
	})
}

func TestReplay(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	broken(t, db)
	receive(t, db, "evt_1", "invoice.paid", "cus_a")
	replay := func(t *testing.T, pool *pgxpool.Pool, force bool) eventlog.Replayed {
		r, err := eventlog.Replay(t.Context(), pool, "evt_1", force)
		require.NoError(t, err)
		return r
	}

	t.Run("given the cause is still there when replayed then it failed again and says why", func(t *testing.T) {
		r := replay(t, db.Pool, false)
		require.Equal(t, eventlog.Replayed{EventID: "evt_1", EventType: "invoice.paid", Outcome: "failed", Attempt: 2, Error: "no template", SQLState: "XX123"}, r)
		require.False(t, r.Applied())
	})

	t.Run("given the cause is mended when replayed then it is applied", func(t *testing.T) {
		db.Exec(t, `delete from app.broken`)
		r := replay(t, db.Pool, false)
		require.Equal(t, "processed", r.Outcome)
		require.True(t, r.Applied())
		require.EqualValues(t, 1, pgtest.One[int64](t, db, `select count(*) from paidonce.outbox where event_id = 'evt_1' and action = 'email.receipt'`))
	})

	t.Run("given it is applied when replayed then nothing is done", func(t *testing.T) {
		r := replay(t, db.Pool, false)
		require.Equal(t, "duplicate", r.Outcome)
		require.True(t, r.Applied())
	})

	t.Run("given force when replayed then it runs once more", func(t *testing.T) {
		r := replay(t, db.Pool, true)
		require.Equal(t, "processed", r.Outcome)
		require.Equal(t, 4, r.Attempt)
	})

	t.Run("given an unknown id when replayed then it is not stored", func(t *testing.T) {
		_, err := eventlog.Replay(t.Context(), db.Pool, "evt_none", false)
		require.ErrorIs(t, err, eventlog.ErrNotStored)
	})
}

func TestAny(t *testing.T) {
	t.Parallel()

	t.Run("given no schema when asked then there is no event", func(t *testing.T) {
		t.Parallel()
		stored, err := eventlog.Any(t.Context(), pgtest.NewEmpty(t, cluster.Plain).Pool)
		require.NoError(t, err)
		require.False(t, stored)
	})

	t.Run("given an event when asked then there is one", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		stored, err := eventlog.Any(t.Context(), db.Pool)
		require.NoError(t, err)
		require.False(t, stored)
		receive(t, db, "evt_1", "invoice.paid", "cus_a")
		stored, err = eventlog.Any(t.Context(), db.Pool)
		require.NoError(t, err)
		require.True(t, stored)
	})
}
