-- Purpose:   forget rows that are over: sent or dead for longer than an age.
-- Arguments: older_than; max_rows, to keep each transaction short.
-- Returns:   how many rows were deleted.
-- Raises:    nothing.
-- Locks:     the rows deleted.
create or replace function paidonce.prune_outbox(older_than interval, max_rows integer default 10000)
returns bigint
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_deleted bigint;
begin
    with over as materialized (
        select o.id
        from paidonce.outbox as o
        where o.status in ('sent', 'dead') and coalesce(o.sent_at, o.first_attempt_at, o.created_at) < clock_timestamp() - older_than
        limit max_rows
        for update skip locked
    )
    delete from paidonce.outbox as o using over where o.id = over.id;
    get diagnostics v_deleted = row_count;
    return v_deleted;
end
$$;

comment on function paidonce.prune_outbox(interval, integer) is
    'Deletes outbox rows that were sent or dead for longer than an age. Owner only.';

revoke all on function paidonce.prune_outbox(interval, integer) from public;
call paidonce.only_grant('execute', 'function paidonce.prune_outbox(interval, integer)', variadic '{}');
