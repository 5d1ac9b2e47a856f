-- Purpose:   read one metadata value.
-- Arguments: object, any Stripe object; key.
-- Returns:   the value as text, or null when there is none or it is blank.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_metadata(object jsonb, key text)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case jsonb_typeof(object -> 'metadata') when 'object' then nullif(btrim(object -> 'metadata' ->> key), '') end;
end
$$;

comment on function paidonce.read_metadata(jsonb, text) is
    'One metadata value of an object; null when there is none.';

revoke all on function paidonce.read_metadata(jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.read_metadata(jsonb, text)', variadic '{}');
