-- Purpose:   do what is due: parked events and purchases of customers whose user became known, purchases that waited for a price.
--            A function cannot commit, so call it with 1 and loop: each item is then a transaction of its own. With a larger limit it waits for no
--            lock once it holds those of an item: what is busy is passed over and stays due.
-- Arguments: max_items, how many items at most.
-- Returns:   how many were run; 0 when nothing is due at the moment, or all of it is busy.
-- Raises:    22023 when the limit is not above zero; 40001 under a stricter isolation level than read committed.
-- Locks:     the items' rows, passing over those that others have; then as the items do (see paidonce.lock_set). An item that cannot be run now
--            is put off, a little longer each time, and holds up no other.
create or replace function paidonce.run_due_items(max_items integer)
returns integer
language plpgsql
volatile
security invoker
set search_path = ''
set lock_timeout = '3s'
as $$
declare
    v_item   paidonce.due_work;
    v_ran    integer := 0;
    v_tried  bigint[] := array[]::bigint[];
    v_error  pg_catalog.text;
begin
    perform paidonce.require_read_committed();
    if coalesce(max_items, 0) < 1 then
        raise exception 'run_due needs a limit above zero' using errcode = 'invalid_parameter_value';
    end if;
    while v_ran < max_items and cardinality(v_tried) < max_items + 10 loop
        select d.* into v_item
        from paidonce.due_work as d
        where d.next_attempt_at <= clock_timestamp() and d.due_id <> all (v_tried)
        order by d.next_attempt_at, d.due_id
        limit 1
        for update skip locked;
        exit when not found;
        begin
            perform paidonce.run_due_item(v_item, case when v_ran > 0 then '1ms' when v_tried = array[]::bigint[] then '3s' else '200ms' end);
            v_ran := v_ran + 1;
        exception
            when others then
                -- Busy, for the most part. Its locks are given back, and others may be run before it is tried again.
                get stacked diagnostics v_error = message_text;
                v_tried := v_tried || v_item.due_id;
                if v_ran = 0 then
                    perform paidonce.put_off(v_item, v_error);
                end if;
        end;
    end loop;
    return v_ran;
end
$$;

comment on function paidonce.run_due_items(integer) is
    'Does what is due, and returns how many items it ran.';

revoke all on function paidonce.run_due_items(integer) from public;
call paidonce.only_grant('execute', 'function paidonce.run_due_items(integer)', variadic '{}');
