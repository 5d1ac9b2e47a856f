-- Purpose:   read the price of a subscription item.
-- Arguments: object, a subscription item of any API version.
-- Returns:   the price or plan id, or null.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_item_price_id(object jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return coalesce(paidonce.read_object_id(object -> 'price'), paidonce.read_object_id(object -> 'plan'));
end
$$;

comment on function paidonce.read_item_price_id(jsonb) is
    'Price of a subscription item, given by id or expanded; its plan in old API versions.';

revoke all on function paidonce.read_item_price_id(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_item_price_id(jsonb)', variadic '{}');
