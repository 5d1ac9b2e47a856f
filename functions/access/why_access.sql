-- Purpose:   explain why a user has a feature, or why not: from the answer back to the subscription, the event that stated it and its
--            first delivery.
-- Arguments: user_id; feature.
-- Returns:   one row per subscription, entitlement summary or customer that has to do with it, those that grant first: granted; reason, a sentence;
--            customer_id, subscription_id, status, price_id, until; event_id, event_type, event_created, delivered_at.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.why_access(user_id text, feature text)
returns table (
    granted boolean, reason text, customer_id text, subscription_id text, status text, price_id text, until timestamptz,
    event_id text, event_type text, event_created timestamptz, delivered_at timestamptz
)
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
    return query
    with reasons as (
        select a.grants as granted,
            coalesce('the subscription names it, but ' || a.refusal, format('price %s of the subscription grants it', f.price_id)) as reason,
            a.customer_id, a.subscription_id, a.status, f.price_id, a.until, s.source_event
        from paidonce.subscription_access as a
        join paidonce.subscriptions as s on s.subscription_id = a.subscription_id
        join paidonce.item_features as f on f.subscription_id = a.subscription_id and f.feature = why_access.feature
        where a.user_id = why_access.user_id
        union all
        select false, coalesce(
                'none of its prices names it; they name ' || (
                    select string_agg(distinct f.feature, ', ') from paidonce.item_features as f where f.subscription_id = a.subscription_id),
                'none of its prices names any feature: set a lookup_key, product metadata or paidonce.price_grants'),
            a.customer_id, a.subscription_id, a.status, null, a.until, s.source_event
        from paidonce.subscription_access as a
        join paidonce.subscriptions as s on s.subscription_id = a.subscription_id
        where a.user_id = why_access.user_id
            and not exists (
                select from paidonce.item_features as f
                where f.subscription_id = a.subscription_id and f.feature = why_access.feature)
        union all
        select why_access.feature = any (e.features) and not c.deleted,
            case
                when why_access.feature <> all (e.features) then 'Stripe''s entitlements of the customer do not have it'
                when c.deleted then 'Stripe''s entitlements have it, but the customer was deleted'
                else 'Stripe''s entitlements of the customer have it'
            end,
            e.customer_id, null, null, null, null, e.source_event
        from paidonce.entitlement_summaries as e
        join paidonce.customers as c on c.customer_id = e.customer_id
        where c.user_id = why_access.user_id
        union all
        select false, 'the customer has no subscription', c.customer_id, null, null, null, null, c.source_event
        from paidonce.customers as c
        where c.user_id = why_access.user_id
            and not exists (select from paidonce.subscriptions as s where s.customer_id = c.customer_id)
        union all
        select false, 'no customer is linked to this user: see paidonce.link_customer', null, null, null, null, null, null
        where not exists (select from paidonce.customers as c where c.user_id = why_access.user_id)
    )
    select r.granted, r.reason, r.customer_id, r.subscription_id, r.status, r.price_id, r.until,
        e.event_id, e.event_type, e.created, d.received_at
    from reasons as r
    left join paidonce.events as e on e.event_id = r.source_event
    left join lateral (
        select min(d.received_at) as received_at from paidonce.deliveries as d where d.event_id = e.event_id
    ) as d on true
    order by r.granted desc, r.subscription_id nulls last, r.price_id;
end
$$;

comment on function paidonce.why_access(text, text) is
    'Why a user has a feature, or why not: one row per reason, with the subscription, event and delivery behind it.';

revoke all on function paidonce.why_access(text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.why_access(text, text)', 'service_role');
