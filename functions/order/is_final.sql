-- Purpose:   say whether an object is in a state that no event leaves.
-- Arguments: event_type; object; status of the object (of an invoice: see paidonce.read_invoice_status).
-- Returns:   true or false.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.is_final(event_type text, object jsonb, status text)
returns boolean
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return coalesce(object -> 'deleted' = 'true', false) or case object ->> 'object'
        when 'subscription' then coalesce(status in ('canceled', 'incomplete_expired'), false)
        when 'invoice' then event_type = 'invoice.deleted' or coalesce(status in ('paid', 'void'), false)
        when 'payment_intent' then coalesce(status in ('succeeded', 'canceled'), false)
        when 'checkout.session' then coalesce(object ->> 'payment_status' in ('paid', 'no_payment_required') and status <> 'open', false)
        when 'refund' then coalesce(status in ('failed', 'canceled'), false)
        else event_type in ('customer.deleted', 'product.deleted', 'price.deleted', 'plan.deleted')
    end;
end
$$;

comment on function paidonce.is_final(text, jsonb, text) is
    'Whether an object is in a state that no event leaves, such as a canceled subscription or a paid invoice.';

revoke all on function paidonce.is_final(text, jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.is_final(text, jsonb, text)', variadic '{}');
