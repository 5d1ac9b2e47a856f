-- Purpose:   read the whole price that an invoice line carries.
-- Arguments: object, an invoice line; expanded until 2025-03-31, since then only where it was asked for.
-- Returns:   the price or plan object, or null where the line only has its id.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_line_price(object jsonb)
returns jsonb
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case 'object'
        when jsonb_typeof(object #> '{pricing,price_details,price}') then object #> '{pricing,price_details,price}'
        when jsonb_typeof(object -> 'price') then object -> 'price'
        when jsonb_typeof(object -> 'plan') then object -> 'plan'
    end;
end
$$;

comment on function paidonce.read_line_price(jsonb) is
    'The whole price that an invoice line carries; null where it only has the id.';

revoke all on function paidonce.read_line_price(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_line_price(jsonb)', variadic '{}');
