-- Purpose:   apply the built-in effects of an event: keep the facts it states.
-- Arguments: event.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row.
create or replace function paidonce.project_event(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    case paidonce.projection_of(event ->> 'type')
        when 'customer' then perform paidonce.project_customer(event);
        when 'subscription' then perform paidonce.project_subscription(event);
        when 'checkout_session' then perform paidonce.project_checkout_session(event);
        when 'invoice' then perform paidonce.project_invoice(event);
        when 'invoice_payment' then perform paidonce.project_invoice_payment(event);
        when 'payment' then perform paidonce.project_payment(event);
        when 'refund' then perform paidonce.project_refund(event);
        when 'dispute' then perform paidonce.project_dispute(event);
        when 'product' then perform paidonce.project_product(event);
        when 'price' then perform paidonce.project_price(event);
        when 'entitlement_summary' then perform paidonce.project_entitlement_summary(event);
        else null;
    end case;
end
$$;

comment on function paidonce.project_event(jsonb) is
    'Applies the built-in effects of an event.';

revoke all on function paidonce.project_event(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_event(jsonb)', variadic '{}');
