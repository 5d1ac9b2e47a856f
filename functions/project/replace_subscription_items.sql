-- Purpose:   make the items of a subscription those of its newest statement.
-- Arguments: subscription_id; object, the subscription as stated.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the items.
create or replace function paidonce.replace_subscription_items(subscription_id text, object jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    -- A list that goes on (has_more) does not say what is gone; the refetch will.
    delete from paidonce.subscription_items as i
    where i.subscription_id = replace_subscription_items.subscription_id
        and object #> '{items,has_more}' is distinct from 'true'
        and i.item_id not in (select n.item_id from paidonce.read_subscription_items(object) as n);

    insert into paidonce.subscription_items as i (
        subscription_id, item_id, price_id, product_id, lookup_key, quantity, current_period_start, current_period_end
    )
    select
        replace_subscription_items.subscription_id, n.item_id, n.price_id, n.product_id, n.lookup_key, n.quantity,
        n.current_period_start, n.current_period_end
    from paidonce.read_subscription_items(object) as n
    on conflict on constraint subscription_items_pkey do update
    set price_id = excluded.price_id, product_id = excluded.product_id, lookup_key = excluded.lookup_key, quantity = excluded.quantity,
        current_period_start = excluded.current_period_start, current_period_end = excluded.current_period_end
    where (i.price_id, i.product_id, i.lookup_key, i.quantity, i.current_period_start, i.current_period_end)
        is distinct from (excluded.price_id, excluded.product_id, excluded.lookup_key, excluded.quantity, excluded.current_period_start, excluded.current_period_end);
end
$$;

comment on function paidonce.replace_subscription_items(text, jsonb) is
    'Makes the items of a subscription those of its newest statement.';

revoke all on function paidonce.replace_subscription_items(text, jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.replace_subscription_items(text, jsonb)', variadic '{}');
