-- Purpose:   say which built-in projection an event type has. The one list of them.
-- Arguments: event_type.
-- Returns:   the name of the projection, or null when no built-in effect reads the type.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.projection_of(event_type text)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case
        when event_type like 'v1.%' then 'thin_event'
        when event_type in ('customer.created', 'customer.updated', 'customer.deleted') then 'customer'
        when event_type like 'customer.subscription.%' then 'subscription'
        when event_type like 'checkout.session.%' then 'checkout_session'
        when event_type = 'invoice.upcoming' then null -- a preview: there is no such invoice
        when event_type like 'invoice.%' then 'invoice'
        when event_type like 'invoice\_payment.%' then 'invoice_payment'
        when event_type like 'payment\_intent.%' then 'payment'
        when event_type like 'charge.dispute.%' then 'dispute'
        when event_type like 'charge.refund.%' or event_type like 'refund.%' then 'refund'
        when event_type like 'charge.%' then 'payment'
        when event_type like 'product.%' then 'product'
        when event_type like 'price.%' or event_type like 'plan.%' then 'price'
        when event_type = 'entitlements.active_entitlement_summary.updated' then 'entitlement_summary'
    end;
end
$$;

comment on function paidonce.projection_of(text) is
    'Which built-in projection reads an event type, or null.';

revoke all on function paidonce.projection_of(text) from public;
call paidonce.only_grant('execute', 'function paidonce.projection_of(text)', variadic '{}');
