-- Purpose:   decide whether an event brings newer information about its object than what is kept. The one place where order is decided:
--            a final state goes before any other; then Stripe's time; within a second the rank (see paidonce.rank_of); within a
--            rank previous_attributes, and at last the event id. Arrival never decides.
-- Arguments: event; the kept row's as_of, as_of_rank (null when nothing is kept), is_final, source_event, rivals.
-- Returns:   winner, the event to project now, or null when what is kept stands; its as_of_rank and is_final; rivals to keep in either
--            case; undecided, when only the event id told rivals apart.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.newest(event jsonb, old_as_of timestamptz, old_rank bigint, old_final boolean, old_source text, old_rivals text[],
    out winner jsonb, out as_of_rank bigint, out is_final boolean, out rivals text[], out undecided boolean)
returns record
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
    v_object constant pg_catalog.jsonb := event #> '{data,object}';
    v_as_of  constant pg_catalog.timestamptz := coalesce(paidonce.read_time(event -> 'created'), '-infinity');
    v_latest pg_catalog.text;
begin
    as_of_rank := paidonce.rank_of(event ->> 'type', v_object);
    is_final := paidonce.is_final(event ->> 'type', v_object);
    rivals := old_rivals;
    undecided := false;

    if event ->> 'type' = 'snapshot' then
        winner := event; -- paidonce.apply_snapshot has made sure that nothing newer is kept
        rivals := '{}';
    elsif old_rank is null or (is_final, v_as_of, as_of_rank) > (old_final, coalesce(old_as_of, '-infinity'), old_rank) then
        winner := event;
        rivals := '{}';
    elsif event ->> 'id' = old_source then
        winner := event; -- a forced replay projects it again
    elsif (is_final, v_as_of, as_of_rank) = (old_final, coalesce(old_as_of, '-infinity'), old_rank)
        and old_source is not null then
        rivals := array(select distinct r.id from unnest(old_rivals || old_source || array[event ->> 'id']) as r (id) order by 1);
        select l.event_id, l.undecided into v_latest, undecided from paidonce.latest_of(rivals) as l;
        if v_latest <> old_source then
            select e.payload into winner from paidonce.events as e where e.event_id = v_latest;
        end if;
    end if;

    -- A refetch of the same second may or may not have seen what this event tells.
    if winner is null and old_source is null and v_as_of >= date_trunc('second', old_as_of) then
        undecided := true;
    end if;
end
$$;

comment on function paidonce.newest(jsonb, timestamptz, bigint, boolean, text, text[]) is
    'Decides whether an event brings newer information about its object than what is kept; the one place where order is decided.';

revoke all on function paidonce.newest(jsonb, timestamptz, bigint, boolean, text, text[]) from public;
call paidonce.only_grant('execute', 'function paidonce.newest(jsonb, timestamptz, bigint, boolean, text, text[])', variadic '{}');
