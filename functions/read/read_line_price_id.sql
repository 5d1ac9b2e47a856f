-- Purpose:   read the price of an invoice line.
-- Arguments: object, an invoice line of any API version: price or plan until 2025-03-31, pricing.price_details.price since.
-- Returns:   the price or plan id, or null.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_line_price_id(object jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return coalesce(
        paidonce.read_object_id(object #> '{pricing,price_details,price}'),
        paidonce.read_object_id(object -> 'price'),
        paidonce.read_object_id(object -> 'plan')
    );
end
$$;

comment on function paidonce.read_line_price_id(jsonb) is
    'Price of an invoice line, from any of its places.';

revoke all on function paidonce.read_line_price_id(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_line_price_id(jsonb)', variadic '{}');
