-- Purpose:   read which payments an invoice names.
-- Arguments: object, an invoice of any API version: payment_intent and charge until 2025-03-31, payments.data since.
-- Returns:   ids of payment intents and charges, sorted; empty when it names none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_invoice_payment_ids(object jsonb)
returns text[]
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return array(
        select distinct r.id
        from (
            select paidonce.read_object_id(object -> 'payment_intent')
            union all
            select paidonce.read_object_id(object -> 'charge')
            union all
            select unnest(paidonce.read_invoice_payment_link(p.payment))
            from jsonb_array_elements(
                case jsonb_typeof(object #> '{payments,data}') when 'array' then object #> '{payments,data}' else '[]' end
            ) as p (payment)
        ) as r (id)
        where r.id is not null
        order by 1
    );
end
$$;

comment on function paidonce.read_invoice_payment_ids(jsonb) is
    'Payment intents and charges that an invoice names, from any of their places.';

revoke all on function paidonce.read_invoice_payment_ids(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_invoice_payment_ids(jsonb)', variadic '{}');
