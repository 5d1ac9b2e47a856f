-- Purpose:   read the lookup key of a subscription item's price.
-- Arguments: object, a subscription item; only an expanded price has one (API 2020-08-27 and later).
-- Returns:   the lookup key, or null.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_lookup_key(object jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return nullif(object #>> '{price,lookup_key}', '');
end
$$;

comment on function paidonce.read_lookup_key(jsonb) is
    'Lookup key of a subscription item''s price; null when there is none.';

revoke all on function paidonce.read_lookup_key(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_lookup_key(jsonb)', variadic '{}');
