-- Purpose:   ask Stripe which invoice a refunded or disputed payment paid, where no event has said it.
-- Arguments: event; object_id, any object of the purchase.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the new outbox row.
create or replace function paidonce.request_purchase_link(event jsonb, object_id text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    perform paidonce.request_refetch(event, 'invoice_payment_list', w.payment_id)
    from (
        select coalesce(min(o.object_id) filter (where o.object_id like 'pi\_%'), min(o.object_id)) as payment_id
        from paidonce.purchase_objects as o
        where o.purchase_id = (select i.purchase_id from paidonce.purchase_objects as i where i.object_id = request_purchase_link.object_id)
        having not bool_or(o.kind in ('invoice', 'session') or o.link_known)
    ) as w;
end
$$;

comment on function paidonce.request_purchase_link(jsonb, text) is
    'Asks Stripe which invoice a refunded or disputed payment paid, where no event has said it.';

revoke all on function paidonce.request_purchase_link(jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.request_purchase_link(jsonb, text)', variadic '{}');
