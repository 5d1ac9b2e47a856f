-- Purpose:   run a stored event again, from its stored payload, through the same function as a delivery.
-- Arguments: event_id; force, to run an event once more that is already processed.
-- Returns:   what handle_stripe_event returns; "duplicate" when it was already applied and not forced.
-- Raises:    P0002 when no such event is stored; else as handle_stripe_event. A forced run that does not end in
--            "processed" raises its error: what the first run did stands, and the event stays processed.
-- Locks:     as handle_stripe_event.
create or replace function paidonce.replay(event_id text, force boolean default false)
returns jsonb
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_payload pg_catalog.jsonb;
    v_status  pg_catalog.text;
    v_result  pg_catalog.jsonb;
begin
    select e.payload, e.status into v_payload, v_status from paidonce.events as e where e.event_id = replay.event_id for update;
    if not found then
        raise exception 'no event % is stored', coalesce(event_id, 'null')
            using errcode = 'no_data_found', hint = 'Check the id, or have Stripe send the event again.';
    end if;

    v_result := public.handle_stripe_event(
        v_payload || jsonb_build_object('paidonce', jsonb_build_object('source', 'replay', 'force', coalesce(force, false)))
    );

    if v_status = 'processed' and v_result ->> 'outcome' not in ('processed', 'duplicate') then
        raise exception 'the forced replay of % ended in "%": %', event_id, v_result ->> 'outcome',
            coalesce(v_result ->> 'error', (select e.error from paidonce.events as e where e.event_id = replay.event_id))
            using errcode = coalesce(v_result ->> 'sqlstate', 'object_not_in_prerequisite_state'),
                hint = 'Nothing was changed: the event is still processed, as it was.';
    end if;
    return v_result;
end
$$;

comment on function paidonce.replay(text, boolean) is
    'Runs a stored event again. An event already processed stays untouched unless force is true. Owner only.';

revoke all on function paidonce.replay(text, boolean) from public;
call paidonce.only_grant('execute', 'function paidonce.replay(text, boolean)', variadic '{}');
