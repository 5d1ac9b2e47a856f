// Package duetest gives a test's database due work that the test decides on, in place of the kit's.
package duetest

import (
	"testing"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// stub keeps to the contract of paidonce.run_due: it does one item, passes over what others have, and says how
// many it did. It takes the place of the kit's function, whose rights it keeps.
const stub = `
create schema stub;
create table stub.due (
    id bigint generated always as identity primary key, takes float8 not null, next_at timestamptz not null default now(),
    done integer not null default 0, pid integer, by text
);
create sequence stub.calls;
create table stub.trouble (calls bigint); -- so many calls fail
insert into stub.trouble values (0);
create or replace function paidonce.run_due("limit" integer) returns integer language plpgsql security definer set search_path = '' as $$
declare
    v_item stub.due;
begin
    if nextval('stub.calls') <= (select t.calls from stub.trouble as t) then
        raise exception 'out of order' using errcode = '40P01';
    end if;
    select d.* into v_item from stub.due as d where d.done = 0 and d.next_at <= clock_timestamp() order by d.id limit 1 for update skip locked;
    if not found then
        return 0;
    end if;
    perform pg_sleep(v_item.takes);
    update stub.due as d set done = d.done + 1, pid = pg_backend_pid(), by = current_setting('application_name') where d.id = v_item.id;
    return 1;
end
$$;
grant usage on schema paidonce to paidonce_edge;
grant execute on function paidonce.run_due(integer) to paidonce_edge, paidonce_worker`

// Replace puts the stub in place.
func Replace(t testing.TB, db *pgtest.DB) {
	t.Helper()
	db.Exec(t, stub)
}

// Add makes n items due, each of which takes so many seconds. No notice is given.
func Add(t testing.TB, db *pgtest.DB, n int, takes float64) {
	t.Helper()
	db.Exec(t, "insert into stub.due (takes) select $2::float8 from generate_series(1, $1::integer)", n, takes)
}

// Fail makes the next calls fail, so many of them.
func Fail(t testing.TB, db *pgtest.DB, calls int64) {
	t.Helper()
	db.Exec(t, "update stub.trouble set calls = $1::bigint + (select case when is_called then last_value else 0 end from stub.calls)", calls)
}

// Left is how many items are not done.
func Left(t testing.TB, db *pgtest.DB) int64 {
	t.Helper()
	return pgtest.One[int64](t, db, "select count(*) from stub.due where done = 0")
}

// Calls is how often due work was asked for.
func Calls(t testing.TB, db *pgtest.DB) int64 {
	t.Helper()
	return pgtest.One[int64](t, db, "select case when is_called then last_value else 0 end from stub.calls")
}
