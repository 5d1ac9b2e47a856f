-- Purpose:   apply the built-in effects of an event, or of a snapshot: keep the facts it states. Both go through the same projections.
-- Arguments: event.
-- Returns:   nothing.
-- Raises:    what the projection raises: PO404 when the event has to wait for its customer's user.
-- Locks:     the object's row.
create or replace function paidonce.project_event(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_projection constant pg_catalog.text := case event ->> 'type'
        when 'snapshot' then paidonce.projection_of(null, event #>> '{data,object,object}')
        else paidonce.projection_of(event ->> 'type')
    end;
begin
    if v_projection is not null then
        execute format('select paidonce.project_%s($1)', v_projection) using event;
    end if;
end
$$;

comment on function paidonce.project_event(jsonb) is
    'Applies the built-in effects of an event.';

revoke all on function paidonce.project_event(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_event(jsonb)', variadic '{}');
