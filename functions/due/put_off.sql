-- Purpose:   keep due what could not be done now, so that it holds up nothing else. Of a customer or a price only what was tried is put off, as an
--            item of its own, and the rest goes on behind it.
-- Arguments: item; error, why it could not be done.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the item's row, which the caller has.
create or replace function paidonce.put_off(item paidonce.due_work, error text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_next paidonce.due_work;
begin
    v_next := paidonce.next_due(item);
    if v_next.kind is not null and v_next.kind <> item.kind then
        insert into paidonce.due_work (kind, subject, cause, attempts, next_attempt_at, error)
        values (v_next.kind, v_next.subject, item.cause, 1, clock_timestamp() + interval '1 second', put_off.error);
        update paidonce.due_work as d
        set done_until = v_next.done_until, done_until_id = v_next.done_until_id, next_attempt_at = clock_timestamp()
        where d.due_id = item.due_id;
        return;
    end if;
    update paidonce.due_work as d
    set attempts = d.attempts + 1, error = put_off.error,
        next_attempt_at = clock_timestamp() + least(power(2, least(d.attempts, 10)), 300) * interval '1 second'
    where d.due_id = item.due_id;
end
$$;

comment on function paidonce.put_off(paidonce.due_work, text) is
    'Keeps due what could not be done now, behind what can.';

revoke all on function paidonce.put_off(paidonce.due_work, text) from public;
call paidonce.only_grant('execute', 'function paidonce.put_off(paidonce.due_work, text)', variadic '{}');
