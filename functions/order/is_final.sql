-- Purpose:   say whether an object is in a state that no event leaves.
-- Arguments: event_type; object.
-- Returns:   true or false.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.is_final(event_type text, object jsonb)
returns boolean
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return coalesce(paidonce.read_flag(object -> 'deleted'), false) or case object ->> 'object'
        when 'subscription' then coalesce(object ->> 'status' in ('canceled', 'incomplete_expired'), false)
        when 'invoice' then event_type = 'invoice.deleted' or coalesce(paidonce.read_invoice_status(object) in ('paid', 'void'), false)
        when 'payment_intent' then coalesce(object ->> 'status' in ('succeeded', 'canceled'), false)
        when 'checkout.session' then coalesce(object ->> 'payment_status' in ('paid', 'no_payment_required') and object ->> 'status' <> 'open', false)
        when 'refund' then coalesce(object ->> 'status' in ('failed', 'canceled'), false)
        else event_type in ('customer.deleted', 'product.deleted', 'price.deleted', 'plan.deleted')
    end;
end
$$;

comment on function paidonce.is_final(text, jsonb) is
    'Whether an object is in a state that no event leaves, such as a canceled subscription or a paid invoice.';

revoke all on function paidonce.is_final(text, jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.is_final(text, jsonb)', variadic '{}');
