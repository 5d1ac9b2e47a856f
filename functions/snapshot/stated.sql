-- Purpose:   read what is kept of an object, whatever its type.
-- Arguments: object_type, as Stripe names it; object_id (of an entitlement summary: its customer).
-- Returns:   its row's generation, as_of, source_event, account and data; no row when it is not kept.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.stated(object_type text, object_id text)
returns table (generation bigint, as_of timestamptz, source_event text, account text, data jsonb)
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
    return query
    select o.generation, o.as_of, o.source_event, o.account, o.data from paidonce.customers as o
    where object_type = 'customer' and o.customer_id = object_id
    union all
    select o.generation, o.as_of, o.source_event, o.account, o.data from paidonce.subscriptions as o
    where object_type = 'subscription' and o.subscription_id = object_id
    union all
    select o.generation, o.as_of, o.source_event, o.account, o.data from paidonce.checkout_sessions as o
    where object_type = 'checkout.session' and o.session_id = object_id
    union all
    select o.generation, o.as_of, o.source_event, o.account, o.data from paidonce.invoices as o
    where object_type = 'invoice' and o.invoice_id = object_id
    union all
    select o.generation, o.as_of, o.source_event, o.account, o.data from paidonce.payments as o
    where object_type in ('payment_intent', 'charge') and o.payment_id = object_id
    union all
    select o.generation, o.as_of, o.source_event, o.account, o.data from paidonce.refunds as o
    where object_type = 'refund' and o.refund_id = object_id
    union all
    select o.generation, o.as_of, o.source_event, o.account, o.data from paidonce.disputes as o
    where object_type = 'dispute' and o.dispute_id = object_id
    union all
    select o.generation, o.as_of, o.source_event, o.account, o.data from paidonce.products as o
    where object_type = 'product' and o.product_id = object_id
    union all
    select o.generation, o.as_of, o.source_event, o.account, o.data from paidonce.prices as o
    where object_type in ('price', 'plan') and o.price_id = object_id
    union all
    select o.generation, o.as_of, o.source_event, o.account, o.data from paidonce.entitlement_summaries as o
    where object_type = 'entitlements.active_entitlement_summary' and o.customer_id = object_id;
end
$$;

comment on function paidonce.stated(text, text) is
    'What is kept of an object, whatever its type.';

revoke all on function paidonce.stated(text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.stated(text, text)', variadic '{}');
