-- Purpose:   read one of Stripe's times.
-- Arguments: value, seconds since 1970 as a JSON number.
-- Returns:   the time (UTC), or null when it is absent, null or no time before the year 10000.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_time(value jsonb)
returns timestamptz
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    if jsonb_typeof(value) = 'number' and (value #>> '{}')::numeric between 0 and 253402300799 then
        return to_timestamp((value #>> '{}')::double precision);
    end if;
    return null;
end
$$;

comment on function paidonce.read_time(jsonb) is
    'A Stripe time (seconds since 1970, UTC) as timestamptz; null where it is absent or no time.';

revoke all on function paidonce.read_time(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_time(jsonb)', variadic '{}');
