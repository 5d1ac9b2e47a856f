-- Purpose:   read which invoice a payment belongs to.
-- Arguments: object, a payment intent or charge; since API 2025-03-31 it no longer says.
-- Returns:   the invoice id, or null.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_payment_invoice_id(object jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return paidonce.read_object_id(object -> 'invoice');
end
$$;

comment on function paidonce.read_payment_invoice_id(jsonb) is
    'Invoice of a payment intent or charge, where its API version says it.';

revoke all on function paidonce.read_payment_invoice_id(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_payment_invoice_id(jsonb)', variadic '{}');
