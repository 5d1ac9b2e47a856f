-- Purpose:   read which payment an invoice payment stands for.
-- Arguments: object, an invoice_payment (API 2025-03-31 and later).
-- Returns:   ids of its payment intent and charge, as far as they are named.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_invoice_payment_link(object jsonb)
returns text[]
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return array_remove(array[
        paidonce.read_object_id(object #> '{payment,payment_intent}'),
        paidonce.read_object_id(object #> '{payment,charge}')
    ], null);
end
$$;

comment on function paidonce.read_invoice_payment_link(jsonb) is
    'Payment intent and charge that an invoice payment stands for.';

revoke all on function paidonce.read_invoice_payment_link(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_invoice_payment_link(jsonb)', variadic '{}');
