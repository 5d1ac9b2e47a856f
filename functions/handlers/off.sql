-- Purpose:   stop running an effect for a type of event.
-- Arguments: event_type and handler, as they were registered.
-- Returns:   nothing. The row stays, disabled, and keeps its place in the order.
-- Raises:    P0002 when that effect is not registered for that type.
-- Locks:     the registry's row.
create or replace function paidonce.off(event_type text, handler regprocedure)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    update paidonce.handlers as h
    set enabled = false
    where h.event_type = off.event_type and h.handler = off.handler::pg_catalog.text;

    if not found then
        raise exception '% is not registered for %', handler, event_type
            using errcode = 'no_data_found', hint = 'See: select event_type, handler from paidonce.handlers';
    end if;
end
$$;

comment on function paidonce.off(text, regprocedure) is
    'Stops running an effect for a type of event. Owner only.';

revoke all on function paidonce.off(text, regprocedure) from public;
call paidonce.only_grant('execute', 'function paidonce.off(text, regprocedure)', variadic '{}');
