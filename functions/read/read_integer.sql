-- Purpose:   read a whole number.
-- Arguments: value.
-- Returns:   the number, without any fraction; null when it is absent, no number or too large.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_integer(value jsonb)
returns bigint
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    if jsonb_typeof(value) = 'number' and (value #>> '{}')::numeric between -9223372036854775808 and 9223372036854775807 then
        return trunc((value #>> '{}')::numeric);
    end if;
    return null;
end
$$;

comment on function paidonce.read_integer(jsonb) is
    'A JSON number as bigint; null where it is absent or no number.';

revoke all on function paidonce.read_integer(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_integer(jsonb)', variadic '{}');
