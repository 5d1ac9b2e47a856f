-- Purpose:   apply the built-in effects of an event, or of a snapshot: keep the facts it states. Both go through the same projections.
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
declare
    v_projection constant pg_catalog.text := case event ->> 'type'
        when 'snapshot' then paidonce.projection_of_object(event #>> '{data,object,object}')
        else paidonce.projection_of(event ->> 'type')
    end;
begin
    case v_projection
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
        when 'invoice_payment_list' then perform paidonce.project_invoice_payment_list(event);
        when 'thin_event' then perform paidonce.project_thin_event(event);
        else null;
    end case;
end
$$;

comment on function paidonce.project_event(jsonb) is
    'Applies the built-in effects of an event.';

revoke all on function paidonce.project_event(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_event(jsonb)', variadic '{}');
