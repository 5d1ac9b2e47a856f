-- Purpose:   read the current period of a subscription.
-- Arguments: object, a subscription of any API version. Stripe API 2025-03-31 moved the period to the items.
-- Returns:   period_start and period_end (UTC), both null when none is stated.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_subscription_period(object jsonb, out period_start timestamptz, out period_end timestamptz)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    if jsonb_typeof(object -> 'current_period_end') = 'number' then
        period_start := paidonce.read_time(object -> 'current_period_start');
        period_end := paidonce.read_time(object -> 'current_period_end');
        return;
    end if;

    -- Items may have periods of their own; the one that ends first is the next moment anything happens.
    select paidonce.read_time(i.item -> 'current_period_start'), paidonce.read_time(i.item -> 'current_period_end')
    into period_start, period_end
    from jsonb_array_elements(paidonce.read_subscription_items(object)) as i (item)
    where jsonb_typeof(i.item -> 'current_period_end') = 'number'
    order by 2, 1
    limit 1;
end
$$;

comment on function paidonce.read_subscription_period(jsonb) is
    'The current period of a subscription: its own before API 2025-03-31, that of the item which ends first since then.';

revoke all on function paidonce.read_subscription_period(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_subscription_period(jsonb)', variadic '{}');
