-- Purpose:   read the product of an invoice line.
-- Arguments: object, an invoice line of any API version.
-- Returns:   the product id, or null.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_line_product_id(object jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return coalesce(
        paidonce.read_object_id(object #> '{pricing,price_details,product}'),
        paidonce.read_object_id(object #> '{price,product}'),
        paidonce.read_object_id(object #> '{plan,product}')
    );
end
$$;

comment on function paidonce.read_line_product_id(jsonb) is
    'Product of an invoice line, from any of its places.';

revoke all on function paidonce.read_line_product_id(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_line_product_id(jsonb)', variadic '{}');
