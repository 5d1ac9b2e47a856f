-- Purpose:   hand out due rows to a worker, each under a lease and a fencing token of its own. A row whose lease ran out is handed
--            out again. Commit at once and send outside any transaction.
-- Arguments: max_rows, at most so many rows; lease, how long the worker has them; actions, only these (exact, or a family such as email.*)
--            and not those that have a ! in front, or null for all.
-- Returns:   the rows that were due first, in no particular order. attempts counts this attempt.
-- Raises:    22023 when an argument is out of range.
-- Locks:     the rows handed out; rows that others have locked are passed over.
--
-- Rows of other actions are never looked at: the index leads from one pending action to the next, and from each that is asked for to its
-- rows that are due. The settings keep a plan that was made for an empty table from reading a full one.
create or replace function paidonce.claim_outbox(max_rows integer, lease interval, actions text[] default null)
returns table (
    id bigint, event_id text, action text, payload jsonb, idempotency_key text, attempts integer, lease_token bigint,
    first_attempt_at timestamptz, created_at timestamptz
)
language plpgsql
volatile
security definer
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_now   constant pg_catalog.timestamptz := clock_timestamp(); -- once, so that an index can be asked for it
    v_only  constant pg_catalog.text[] := array(select a.name from unnest(coalesce(actions, '{*}')) as a (name) where not starts_with(a.name, '!'));
    v_not   constant pg_catalog.text[] := array(select substr(a.name, 2) from unnest(actions) as a (name) where starts_with(a.name, '!'));
    v_names pg_catalog.text[]; -- actions that may be handed out
    v_first pg_catalog.text[]; -- those that have rows among the ones due first
    v_parts pg_catalog.int4[]; -- and how many
    v_full  boolean := false;  -- there are more than these
    v_ids   pg_catalog.int8[] := array[]::pg_catalog.int8[];
begin
    if coalesce(max_rows, 0) not between 1 and 10000 or coalesce(lease, '0') <= '0' or lease > '1 day' then
        raise exception 'claim_outbox needs 1 to 10000 rows and a lease of at most a day' using errcode = 'invalid_parameter_value';
    end if;

    with recursive pending (prefix, name) as (
        select f.prefix, (
            select o.action from paidonce.outbox as o
            where o.status = 'pending' and o.action collate "C" >= f.prefix
            order by o.action collate "C" limit 1)
        from (select rtrim(a.name, '*') as prefix from unnest(v_only) as a (name) where a.name like '%*') as f
        union all
        select p.prefix, (
            select o.action from paidonce.outbox as o
            where o.status = 'pending' and o.action collate "C" > p.name
            order by o.action collate "C" limit 1)
        from pending as p
        where starts_with(p.name, p.prefix)
    )
    select array_agg(n.name) into v_names
    from (
        select p.name from pending as p where starts_with(p.name, p.prefix)
        union
        select a.name from unnest(v_only) as a (name) where a.name not like '%*'
    ) as n
    where not exists (
        select from unnest(v_not) as a (name)
        where n.name = a.name or (a.name like '%*' and starts_with(n.name, rtrim(a.name, '*'))));

    if cardinality(v_names) = 1 then
        v_first := v_names;
        v_parts := array[max_rows];
    else
        select array_agg(f.name), array_agg(f.part), sum(f.part) = max_rows into v_first, v_parts, v_full
        from (
            select d.name, count(*)::pg_catalog.int4 as part
            from (
                select n.name, r.id
                from unnest(v_names) as n (name)
                cross join lateral (
                    select o.next_attempt_at, o.id
                    from paidonce.outbox as o
                    where o.status = 'pending' and o.action collate "C" = n.name and o.next_attempt_at <= v_now
                        and (o.lease_until is null or o.lease_until <= v_now)
                    order by o.next_attempt_at, o.id
                    limit max_rows
                ) as r
                order by r.next_attempt_at, r.id
                limit max_rows
            ) as d
            group by d.name
        ) as f;
    end if;

    -- Arrays, so that no plan can lock more rows than the limit, or read the table to join them.
    for i in 1 .. coalesce(cardinality(v_first), 0) loop
        v_ids := v_ids || array(
            select o.id
            from paidonce.outbox as o
            where o.status = 'pending' and o.action collate "C" = v_first[i] and o.next_attempt_at <= v_now
                and (o.lease_until is null or o.lease_until <= v_now)
            order by o.next_attempt_at, o.id
            limit v_parts[i]
            for update skip locked
        );
    end loop;
    if v_full and cardinality(v_ids) < max_rows then
        -- Somebody has locked some of them: others in their place, so that they hold nothing up.
        for i in 1 .. cardinality(v_names) loop
            v_ids := v_ids || array(
                select o.id
                from paidonce.outbox as o
                where o.status = 'pending' and o.action collate "C" = v_names[i] and o.next_attempt_at <= v_now
                    and (o.lease_until is null or o.lease_until <= v_now) and o.id <> all (v_ids)
                order by o.next_attempt_at, o.id
                limit max_rows - cardinality(v_ids)
                for update skip locked
            );
        end loop;
    end if;
    if v_ids = '{}' then
        return;
    end if;

    return query
    update paidonce.outbox as o
    set lease_until = clock_timestamp() + lease,
        lease_token = coalesce(o.lease_token, 0) + 1,
        attempts = o.attempts + 1,
        first_attempt_at = coalesce(o.first_attempt_at, clock_timestamp())
    where o.id = any (v_ids)
    returning o.id, o.event_id, o.action, o.payload, o.idempotency_key, o.attempts, o.lease_token, o.first_attempt_at, o.created_at;
end
$$;

comment on function paidonce.claim_outbox(integer, interval, text[]) is
    'Hands out due outbox rows to a worker, under a lease and a fencing token.';

revoke all on function paidonce.claim_outbox(integer, interval, text[]) from public;
call paidonce.only_grant('execute', 'function paidonce.claim_outbox(integer, interval, text[])', 'paidonce_worker');
