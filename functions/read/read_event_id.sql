-- Purpose:   check that a value is a Stripe event and read its id.
-- Arguments: event, a snapshot event or a thin one.
-- Returns:   the id (evt_...).
-- Raises:    PO400 when id, type or data.object (of a thin event: nothing more) is missing or not of its kind.
-- Locks:     nothing.
create or replace function paidonce.read_event_id(event jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    if jsonb_typeof(event) is distinct from 'object'
        or jsonb_typeof(event -> 'id') is distinct from 'string'
        or jsonb_typeof(event -> 'type') is distinct from 'string'
        or (jsonb_typeof(event #> '{data,object}') is distinct from 'object' and event ->> 'object' is distinct from 'v2.core.event')
        or length(event ->> 'id') not between 1 and 255
        or length(event ->> 'type') not between 1 and 255 then
        raise exception 'not a Stripe event: it needs an id, a type and a data.object' using errcode = 'PO400';
    end if;
    return event ->> 'id';
end
$$;

comment on function paidonce.read_event_id(jsonb) is
    'Id of a Stripe event; raises PO400 where the value is not one.';

revoke all on function paidonce.read_event_id(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_event_id(jsonb)', variadic '{}');
