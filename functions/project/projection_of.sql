-- Purpose:   say which built-in projection reads an event type or keeps an object type. The one list of them: what is listed here as x
--            is projected by paidonce.project_x.
-- Arguments: event_type, or object_type as Stripe names it; the other is null.
-- Returns:   the name of the projection, or null when there is none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.projection_of(event_type text, object_type text default null)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case
        when event_type like 'v1.%' then 'thin_event'
        when event_type in ('customer.created', 'customer.updated', 'customer.deleted') or object_type = 'customer' then 'customer'
        when event_type like 'customer.subscription.%' or object_type = 'subscription' then 'subscription'
        when event_type like 'checkout.session.%' or object_type = 'checkout.session' then 'checkout_session'
        when event_type = 'invoice.upcoming' then null -- a preview: there is no such invoice
        when event_type like 'invoice.%' or object_type = 'invoice' then 'invoice'
        when event_type like 'invoice\_payment.%' or object_type = 'invoice_payment' then 'invoice_payment'
        when object_type = 'invoice_payment_list' then 'invoice_payment_list'
        when event_type like 'payment\_intent.%' or object_type in ('payment_intent', 'charge') then 'payment'
        when event_type like 'charge.dispute.%' or object_type = 'dispute' then 'dispute'
        when event_type like 'charge.refund.%' or event_type like 'refund.%' or object_type = 'refund' then 'refund'
        when event_type like 'charge.%' then 'payment'
        when event_type like 'product.%' or object_type = 'product' then 'product'
        when event_type like 'price.%' or event_type like 'plan.%' or object_type in ('price', 'plan') then 'price'
        when event_type = 'entitlements.active_entitlement_summary.updated' or object_type = 'entitlements.active_entitlement_summary' then
            'entitlement_summary'
    end;
end
$$;

comment on function paidonce.projection_of(text, text) is
    'Which built-in projection reads an event type or keeps an object type, or null.';

revoke all on function paidonce.projection_of(text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.projection_of(text, text)', variadic '{}');
