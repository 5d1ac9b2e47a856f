-- Purpose:   write down what became of rows that a worker had. A worker whose lease was taken over changes nothing.
-- Arguments: results, a JSON array of {id, lease_token, outcome, response, error, retry_after}: outcome is sent, retry (after retry_after seconds),
--            dead, or release (given back untried: the attempt does not count).
-- Returns:   ids of the rows that were settled; the others belong to another worker by now.
-- Raises:    22023 when an outcome is unknown.
-- Locks:     the rows, in the order of their ids. A request for a refetch that an event has locked is passed over: the event takes it away from the worker (see paidonce.request_refetch).
create or replace function paidonce.settle_outbox(results jsonb)
returns setof bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    if exists (
        select from jsonb_array_elements(results) as r (result)
        where r.result ->> 'outcome' is null or r.result ->> 'outcome' not in ('sent', 'retry', 'dead', 'release')
    ) then
        raise exception 'an outcome is sent, retry, dead or release' using errcode = 'invalid_parameter_value';
    end if;

    return query
    with told as (
        select r.*
        from jsonb_to_recordset(results)
            as r (id bigint, lease_token bigint, outcome pg_catalog.text, response pg_catalog.jsonb, error pg_catalog.text, retry_after double precision)
    ),
    own as materialized (
        select o.id, r.outcome, r.response, r.error, r.retry_after
        from told as r
        join paidonce.outbox as o on o.id = r.id and o.lease_token = r.lease_token and o.lease_until is not null and o.status = 'pending'
        where o.coalesce_key is null
        order by o.id
        for update of o
    ),
    asked_for as materialized (
        -- What an event has locked it takes away from the worker; waited for, it could close a circle of waits.
        select o.id, r.outcome, r.response, r.error, r.retry_after
        from told as r
        join paidonce.outbox as o on o.id = r.id and o.lease_token = r.lease_token and o.lease_until is not null and o.status = 'pending'
        where o.coalesce_key is not null
        order by o.id
        for update of o skip locked
    ),
    settled as (
        select * from own union all select * from asked_for
    )
    update paidonce.outbox as o
    set status = case s.outcome when 'sent' then 'sent' when 'dead' then 'dead' else 'pending' end,
        sent_at = case s.outcome when 'sent' then clock_timestamp() end,
        lease_until = null,
        attempts = o.attempts - case s.outcome when 'release' then 1 else 0 end,
        first_attempt_at = case when s.outcome = 'release' and o.attempts = 1 then null else o.first_attempt_at end,
        next_attempt_at = case s.outcome
            when 'retry' then clock_timestamp() + least(greatest(coalesce(s.retry_after, 0), 0), 2592000) * interval '1 second'
            else o.next_attempt_at
        end,
        response = coalesce(s.response, o.response),
        error = case s.outcome when 'sent' then null when 'release' then o.error else s.error end
    from settled as s
    where o.id = s.id
    returning o.id;
end
$$;

comment on function paidonce.settle_outbox(jsonb) is
    'Writes down what became of outbox rows that a worker had: sent, retry, dead or release.';

revoke all on function paidonce.settle_outbox(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.settle_outbox(jsonb)', 'paidonce_worker');
