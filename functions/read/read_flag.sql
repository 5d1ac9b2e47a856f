-- Purpose:   read one of Stripe's booleans.
-- Arguments: value.
-- Returns:   true, false, or null when it is absent or no boolean.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_flag(value jsonb)
returns boolean
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case jsonb_typeof(value) when 'boolean' then (value #>> '{}')::boolean end;
end
$$;

comment on function paidonce.read_flag(jsonb) is
    'A JSON boolean; null where it is absent or something else.';

revoke all on function paidonce.read_flag(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_flag(jsonb)', variadic '{}');
