-- Purpose:   hand out due rows to a worker, each under a lease and a fencing token of its own. A row whose lease ran out is handed
--            out again. Commit at once and send outside any transaction.
-- Arguments: max_rows, at most so many rows; lease, how long the worker has them; actions, only these (exact, or a family such as email.*)
--            and not those that have a ! in front, or null for all.
-- Returns:   the rows that were due first, in no particular order. attempts counts this attempt.
-- Raises:    22023 when an argument is out of range.
-- Locks:     the rows handed out; rows that others have locked are passed over.
create or replace function paidonce.claim_outbox(max_rows integer, lease interval, actions text[] default null)
returns table (
    id bigint, event_id text, action text, payload jsonb, idempotency_key text, attempts integer, lease_token bigint,
    first_attempt_at timestamptz, created_at timestamptz
)
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_only constant pg_catalog.text[] := array(select a.name from unnest(actions) as a (name) where not starts_with(a.name, '!'));
    v_not  constant pg_catalog.text[] := array(select substr(a.name, 2) from unnest(actions) as a (name) where starts_with(a.name, '!'));
begin
    if coalesce(max_rows, 0) not between 1 and 10000 or coalesce(lease, '0') <= '0' or lease > '1 day' then
        raise exception 'claim_outbox needs 1 to 10000 rows and a lease of at most a day' using errcode = 'invalid_parameter_value';
    end if;

    -- Materialized, so that no plan can lock more rows than the limit; an array, so that no plan reads the table to join them.
    return query
    with due as materialized (
        select o.id
        from paidonce.outbox as o
        where o.status = 'pending' and o.next_attempt_at <= clock_timestamp()
            and (o.lease_until is null or o.lease_until <= clock_timestamp())
            and (actions is null or exists (
                select from unnest(v_only) as a (name)
                where o.action = a.name or (a.name like '%*' and starts_with(o.action, rtrim(a.name, '*')))))
            and (v_not = '{}' or not exists (
                select from unnest(v_not) as a (name)
                where o.action = a.name or (a.name like '%*' and starts_with(o.action, rtrim(a.name, '*')))))
        order by o.next_attempt_at, o.id
        limit max_rows
        for update skip locked
    )
    update paidonce.outbox as o
    set lease_until = clock_timestamp() + lease,
        lease_token = coalesce(o.lease_token, 0) + 1,
        attempts = o.attempts + 1,
        first_attempt_at = coalesce(o.first_attempt_at, clock_timestamp())
    where o.id = any (array(select d.id from due as d))
    returning o.id, o.event_id, o.action, o.payload, o.idempotency_key, o.attempts, o.lease_token, o.first_attempt_at, o.created_at;
end
$$;

comment on function paidonce.claim_outbox(integer, interval, text[]) is
    'Hands out due outbox rows to a worker, under a lease and a fencing token.';

revoke all on function paidonce.claim_outbox(integer, interval, text[]) from public;
call paidonce.only_grant('execute', 'function paidonce.claim_outbox(integer, interval, text[])', 'paidonce_worker');
