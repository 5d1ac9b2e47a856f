-- Purpose:   read which payment an invoice payment stands for.
-- Arguments: object, an invoice_payment (API 2025-03-31 and later).
-- Returns:   its facts; payment_ids are those of its payment intent and charge, as far as they are named.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_invoice_payment(object jsonb, out invoice_id text, out status text, out payment_ids text[])
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    invoice_id := case 'string' when jsonb_typeof(object -> 'invoice') then nullif(object ->> 'invoice', '')
        when jsonb_typeof(object #> '{invoice,id}') then nullif(object #>> '{invoice,id}', '') end;
    status := object ->> 'status';
    payment_ids := array_remove(array[
        paidonce.read_object_id(object #> '{payment,payment_intent}'),
        paidonce.read_object_id(object #> '{payment,charge}')
    ], null);
end
$$;

comment on function paidonce.read_invoice_payment(jsonb) is
    'What an invoice payment says: which payment stands for which invoice.';

revoke all on function paidonce.read_invoice_payment(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_invoice_payment(jsonb)', variadic '{}');
