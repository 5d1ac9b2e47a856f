-- Purpose:   say which projection keeps an object of a type.
-- Arguments: object_type, as Stripe names it.
-- Returns:   the name of the projection, or null when no table keeps it.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.projection_of_object(object_type text)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case
        when object_type in ('customer', 'subscription', 'invoice', 'invoice_payment', 'invoice_payment_list', 'refund', 'dispute', 'product', 'price') then object_type
        when object_type = 'plan' then 'price'
        when object_type in ('payment_intent', 'charge') then 'payment'
        when object_type = 'checkout.session' then 'checkout_session'
        when object_type = 'entitlements.active_entitlement_summary' then 'entitlement_summary'
    end;
end
$$;

comment on function paidonce.projection_of_object(text) is
    'Which projection keeps an object of a type, or null.';

revoke all on function paidonce.projection_of_object(text) from public;
call paidonce.only_grant('execute', 'function paidonce.projection_of_object(text)', variadic '{}');
