-- Purpose:   what waits in the outbox, for gauges: it is counted, so ask every few seconds and not more often.
-- Arguments: none.
-- Returns:   one row: pending, all rows not over; due, those that could be sent now; leased, those that a worker has; dead; and for how many
--            seconds the oldest pending row has been there (0 when there is none).
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.outbox_backlog()
returns table (pending bigint, due bigint, leased bigint, dead bigint, oldest_seconds double precision)
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
    return query
    select count(*),
        count(*) filter (where o.next_attempt_at <= clock_timestamp() and coalesce(o.lease_until <= clock_timestamp(), true)),
        count(*) filter (where o.lease_until > clock_timestamp()),
        (select count(*) from paidonce.outbox as d where d.status = 'dead'),
        coalesce(extract(epoch from clock_timestamp() - min(o.created_at)), 0)::pg_catalog.float8
    from paidonce.outbox as o
    where o.status = 'pending';
end
$$;

comment on function paidonce.outbox_backlog() is
    'Counts what waits in the outbox and says how old the oldest of it is.';

revoke all on function paidonce.outbox_backlog() from public;
call paidonce.only_grant('execute', 'function paidonce.outbox_backlog()', 'paidonce_worker');
