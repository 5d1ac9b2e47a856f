-- Purpose:   read the id of an object, or of a reference to one.
-- Arguments: object, a whole (or expanded) object, or its id as a JSON string.
-- Returns:   the id, or null.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_object_id(object jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case jsonb_typeof(object)
        when 'string' then nullif(object #>> '{}', '')
        when 'object' then case when jsonb_typeof(object -> 'id') = 'string' then nullif(object ->> 'id', '') end
    end;
end
$$;

comment on function paidonce.read_object_id(jsonb) is
    'Id of an object, given as the object or as its id; null where there is none.';

revoke all on function paidonce.read_object_id(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_object_id(jsonb)', variadic '{}');
