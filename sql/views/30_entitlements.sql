-- Who has what now: the union over all subscriptions of all customers of a user, and Stripe's own entitlements.

create or replace view paidonce.entitlements with (security_invoker = true) as
select a.user_id, a.customer_id, f.feature, a.subscription_id, a.until
from paidonce.subscription_access as a
join paidonce.item_features as f on f.subscription_id = a.subscription_id
where a.grants and a.user_id is not null
union
select c.user_id, c.customer_id, f.feature, null, null
from paidonce.entitlement_summaries as e
join paidonce.customers as c on c.customer_id = e.customer_id
cross join lateral unnest(e.features) as f (feature)
where c.user_id is not null and not c.deleted;

comment on view paidonce.entitlements is 'Who has which feature now, through which subscription. Signed-in users see their own.';
comment on column paidonce.entitlements.user_id is 'The user.';
comment on column paidonce.entitlements.customer_id is 'The customer through which.';
comment on column paidonce.entitlements.feature is 'The feature.';
comment on column paidonce.entitlements.subscription_id is 'The subscription that grants it; null where Stripe''s entitlement summary does.';
comment on column paidonce.entitlements.until is 'Scheduled end of it (UTC); null when none is scheduled.';
call paidonce.only_grant('select', 'table paidonce.entitlements', 'authenticated', 'service_role');
