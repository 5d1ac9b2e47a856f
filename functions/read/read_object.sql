-- Purpose:   read the object an event is about.
-- Arguments: event, a snapshot event, or a thin one, which only names its object.
-- Returns:   data.object; of a thin event {id, object: its type}; null where it names none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_object(event jsonb)
returns jsonb
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case
        when event ->> 'object' = 'v2.core.event' then jsonb_build_object(
            'id', event #> '{related_object,id}', 'object', event #> '{related_object,type}'
        )
        else event #> '{data,object}'
    end;
end
$$;

comment on function paidonce.read_object(jsonb) is
    'The object an event is about; of a thin event its id and type.';

revoke all on function paidonce.read_object(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_object(jsonb)', variadic '{}');
