-- Purpose:   read how many credits an object's metadata promises.
-- Arguments: object, a price, plan, product, session or payment intent.
-- Returns:   credits per unit, or null when metadata has no key credits that is a whole number.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_credits(object jsonb)
returns bigint
language plpgsql
immutable
security invoker
set search_path = ''
as $$
declare
    v_credits constant pg_catalog.text := paidonce.read_metadata(object, 'credits');
begin
    return case when v_credits ~ '^[0-9]{1,12}$' then v_credits::bigint end;
end
$$;

comment on function paidonce.read_credits(jsonb) is
    'Credits named by an object''s metadata key credits; null when there are none.';

revoke all on function paidonce.read_credits(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_credits(jsonb)', variadic '{}');
