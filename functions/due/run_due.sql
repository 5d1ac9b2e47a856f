-- Purpose:   do what is due: see paidonce.run_due_items, which this calls. In SQL, since plpgsql has no parameter named limit.
-- Arguments: limit, how many items at most; call it with 1 in a loop, and each item is a transaction of its own.
-- Returns:   how many were run; 0 when nothing is due at the moment, or all of it is busy.
-- Raises:    22023 when the limit is not above zero; 40001 under a stricter isolation level than read committed.
-- Locks:     as paidonce.run_due_items.
create or replace function paidonce.run_due("limit" integer)
returns integer
language sql
volatile
security definer
set search_path = ''
as $$
    select paidonce.run_due_items($1);
$$;

comment on function paidonce.run_due(integer) is
    'Does what is due, and returns how many items it ran; call it with 1 in a loop until it returns 0.';

revoke all on function paidonce.run_due(integer) from public;
call paidonce.only_grant('execute', 'function paidonce.run_due(integer)', 'service_role', 'paidonce_worker');
