-- Purpose:   read the product of a subscription item.
-- Arguments: object, a subscription item of any API version.
-- Returns:   the product id, or null where the price is not expanded.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_item_product_id(object jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return coalesce(
        paidonce.read_object_id(object #> '{price,product}'),
        paidonce.read_object_id(object #> '{plan,product}')
    );
end
$$;

comment on function paidonce.read_item_product_id(jsonb) is
    'Product of a subscription item''s price or plan, given by id or expanded.';

revoke all on function paidonce.read_item_product_id(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_item_product_id(jsonb)', variadic '{}');
