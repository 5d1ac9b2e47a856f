-- Purpose:   read one of Stripe's times.
-- Arguments: value, seconds since 1970 as a JSON number, or (thin events) an ISO 8601 time in UTC.
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
    if jsonb_typeof(value) = 'number' then
        return case when value::numeric between 0 and 253402300799 then to_timestamp(value::double precision) end;
    end if;
    if value #>> '{}' ~ '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?Z$'
        or value #>> '{}' ~ '^[0-9]{4}-(0[13-9]|1[0-2])-(29|30)T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?Z$'
        or value #>> '{}' ~ '^[0-9]{4}-(0[13578]|1[02])-31T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?Z$' then
        return (value #>> '{}')::pg_catalog.timestamptz;
    end if;
    return null;
end
$$;

comment on function paidonce.read_time(jsonb) is
    'A Stripe time (seconds since 1970, or ISO 8601 in thin events) as timestamptz; null where it is absent or no time.';

revoke all on function paidonce.read_time(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_time(jsonb)', variadic '{}');
