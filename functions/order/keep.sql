-- Purpose:   decide whether an event or what is kept of its object holds. The one place where order is decided:
--            a final state goes before any other; then Stripe's time; within a second the rank (see paidonce.rank_of); within a
--            rank previous_attributes, and at last the event id. Arrival never decides.
-- Arguments: event; kept, the common columns of the object's row, all null when there is none.
-- Returns:   the common columns of the row that must now be: whose statement holds, and that statement. Of the event itself
--            exactly when source_event is its id.
-- Raises:    what paidonce.request_refetch raises, where nothing but the event id told rivals apart and Stripe is asked.
-- Locks:     nothing, or the new outbox row.
create or replace function paidonce.keep(event jsonb, kept paidonce.objects)
returns paidonce.objects
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_object    constant pg_catalog.jsonb := event #> '{data,object}';
    v_type      constant pg_catalog.text := event ->> 'type';
    v_id        constant pg_catalog.text := event ->> 'id';
    v_as_of     constant pg_catalog.timestamptz := coalesce(paidonce.read_time(event -> 'created'), '-infinity');
    v_status    constant pg_catalog.text := case v_object ->> 'object'
        when 'invoice' then paidonce.read_invoice_status(v_object) else v_object ->> 'status'
    end;
    v_rank      constant bigint := paidonce.rank_of(v_type, v_object, v_status);
    v_final     constant boolean := paidonce.is_final(v_type, v_object, v_status);
    v_winner    pg_catalog.jsonb;
    v_rivals    pg_catalog.text[] := coalesce(kept.rivals, '{}');
    v_latest    pg_catalog.text;
    v_undecided boolean := false;
begin
    if v_type = 'snapshot' -- paidonce.apply_snapshot has made sure that nothing newer is kept
        or kept.as_of_rank is null
        or (v_final, v_as_of, v_rank) > (kept.is_final, coalesce(kept.as_of, '-infinity'), kept.as_of_rank) then
        v_winner := event;
        v_rivals := '{}';
    elsif v_id = kept.source_event then
        v_winner := event; -- a forced replay projects it again
    elsif kept.source_event is not null
        and (v_final, v_as_of, v_rank) = (kept.is_final, coalesce(kept.as_of, '-infinity'), kept.as_of_rank) then
        v_rivals := array(select distinct r.id from unnest(v_rivals || kept.source_event || v_id) as r (id) order by 1);
        select l.event_id, l.undecided into v_latest, v_undecided from paidonce.latest_of(v_rivals) as l;
        if v_latest <> kept.source_event then
            select e.payload into v_winner from paidonce.events as e where e.event_id = v_latest;
        end if;
    end if;

    -- A refetch of the same second may or may not have seen what this event tells.
    if v_winner is null and kept.source_event is null and v_as_of >= date_trunc('second', kept.as_of) then
        v_undecided := true;
    end if;
    if v_undecided then
        perform paidonce.request_refetch(event, v_object ->> 'object', paidonce.read_object_id(v_object));
    end if;

    if v_winner is not null then
        kept.as_of := paidonce.read_time(v_winner -> 'created');
        kept.as_of_rank := v_rank;
        kept.is_final := v_final;
        kept.livemode := case v_winner -> 'livemode' when 'true' then true when 'false' then false else kept.livemode end;
        kept.account := v_winner ->> 'account';
        kept.source_event := v_winner ->> 'id';
        kept.data := v_winner #> '{data,object}';
    end if;
    kept.rivals := v_rivals;
    kept.generation := coalesce(kept.generation, 0) + 1;
    return kept;
end
$$;

comment on function paidonce.keep(jsonb, paidonce.objects) is
    'Decides whether an event or what is kept of its object holds; the one place where order is decided.';

revoke all on function paidonce.keep(jsonb, paidonce.objects) from public;
call paidonce.only_grant('execute', 'function paidonce.keep(jsonb, paidonce.objects)', variadic '{}');
