-- Purpose:   tell apart events of one object that have the same second and rank. An event is followed by another whose
--            previous_attributes are what the first one states; the latest is the one that nothing follows.
-- Arguments: event_ids, of stored events.
-- Returns:   event_id of the latest; undecided, when the chain does not single one out and the greatest id decided.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.latest_of(event_ids text[], out event_id text, out undecided boolean)
returns record
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
    with rival as materialized (
        select e.event_id as id, e.payload #> '{data,object}' as stated, e.payload #> '{data,previous_attributes}' as previous
        from paidonce.events as e
        where e.event_id = any (event_ids)
    ),
    follows as (
        select a.id as earlier, b.id as later
        from rival as a
        join rival as b on b.id <> a.id and jsonb_typeof(b.previous) = 'object' and b.previous <> '{}' and a.stated @> b.previous
    ),
    last as (
        -- Two that follow each other (there and back within a second) say nothing.
        select r.id
        from rival as r
        where not exists (
            select from follows as f
            where f.earlier = r.id
                and not exists (select from follows as g where g.earlier = f.later and g.later = f.earlier)
        )
    )
    select coalesce((select max(l.id) from last as l), max(r.id)), (select count(*) from last) <> 1
    into latest_of.event_id, latest_of.undecided
    from rival as r;
end
$$;

comment on function paidonce.latest_of(text[]) is
    'Which of several events of one object, of the same second and rank, is the latest, by their previous_attributes.';

revoke all on function paidonce.latest_of(text[]) from public;
call paidonce.only_grant('execute', 'function paidonce.latest_of(text[])', variadic '{}');
