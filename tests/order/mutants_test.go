package order_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

var renames atomic.Int64

func replaceID(event string) string {
	n := renames.Add(1)
	return strings.Replace(event, `"id":"evt_`, `"id":"evt_`+string(rune('a'+n%26))+`_`, 1)
}

// mutants break one rule of the order each.
var mutants = map[string]string{
	"time": `create or replace function paidonce.keep(event jsonb, kept paidonce.objects) returns paidonce.objects
		language plpgsql set search_path = '' as $$ begin
			kept.as_of := paidonce.read_time(event -> 'created'); kept.as_of_rank := 1; kept.source_event := event ->> 'id'; kept.rivals := '{}';
			kept.is_final := paidonce.is_final(event ->> 'type', event #> '{data,object}', event #>> '{data,object,status}');
			kept.account := event ->> 'account'; kept.livemode := paidonce.read_flag(event -> 'livemode');
			kept.data := event #> '{data,object}'; kept.generation := coalesce(kept.generation, 0) + 1;
			return kept;
		end $$`,
	"final": `create or replace function paidonce.is_final(event_type text, object jsonb, status text) returns boolean
		language sql immutable set search_path = '' as 'select false'`,
	"rank": `create or replace function paidonce.rank_of(event_type text, object jsonb, status text) returns bigint
		language sql immutable set search_path = '' as 'select 0::bigint'`,
	"previous": `create or replace function paidonce.latest_of(event_ids text[], out event_id text, out undecided boolean)
		language sql stable set search_path = '' as 'select max(x), true from unnest(event_ids) as x'`,
}

func TestGivenOneRuleOfTheOrderBroken_WhenTheStoriesAreDelivered_ThenTheyNotice(t *testing.T) {
	for rule, broken := range mutants {
		t.Run(rule, func(t *testing.T) {
			db := pgtest.New(t)
			db.Exec(t, broken)
			for _, s := range stories {
				if !strings.Contains(strings.Join(s.apart, " "), rule) {
					continue
				}
				require.True(t, notices(t, db, s), "%s: no order ended otherwise with the rule %q broken", s.name, rule)
			}
		})
	}
}

// notices says whether some order of a story ends otherwise than the first, or
// the true one not as it must.
func notices(t *testing.T, db *pgtest.DB, s story) bool {
	t.Helper()
	var first string
	for i, order := range ordersOf(s) {
		state, right := tolerantEnd(t, db, s, order)
		if i == 0 {
			first = state
		}
		if state != first || (i == 0 && !right) {
			return true
		}
	}
	return false
}

// tolerantEnd is the end of a story under a broken rule, and whether it is right.
func tolerantEnd(t *testing.T, db *pgtest.DB, s story, order []int) (state string, right bool) {
	t.Helper()
	tx, err := db.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	state, err = end(t.Context(), tx, s, order)
	require.NoError(t, err)
	require.NoError(t, tx.QueryRow(t.Context(), "select "+s.ends).Scan(&right))
	return state, right
}
