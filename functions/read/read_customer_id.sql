-- Purpose:   read which customer an object belongs to.
-- Arguments: object, any Stripe object.
-- Returns:   the customer id (cus_...), or null (guests, products, prices).
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_customer_id(object jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case
        when object ->> 'object' = 'customer' then paidonce.read_object_id(object)
        else paidonce.read_object_id(object -> 'customer')
    end;
end
$$;

comment on function paidonce.read_customer_id(jsonb) is
    'The customer an object belongs to, named by id or expanded; a customer''s own id for the customer itself.';

revoke all on function paidonce.read_customer_id(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_customer_id(jsonb)', variadic '{}');
