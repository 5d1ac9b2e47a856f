-- Purpose:   read which subscription an invoice bills.
-- Arguments: object, an invoice of any API version. Stripe API 2025-03-31 moved it to parent.subscription_details.
-- Returns:   the subscription id, or null for a one-off invoice.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_invoice_subscription_id(object jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return coalesce(
        paidonce.read_object_id(object -> 'subscription'),
        paidonce.read_object_id(object #> '{parent,subscription_details,subscription}')
    );
end
$$;

comment on function paidonce.read_invoice_subscription_id(jsonb) is
    'Subscription of an invoice, from either of its places; null for a one-off invoice.';

revoke all on function paidonce.read_invoice_subscription_id(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_invoice_subscription_id(jsonb)', variadic '{}');
