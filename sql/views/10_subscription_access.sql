-- Which subscriptions grant access, and why the others do not. The one place where that is decided.

create or replace view paidonce.subscription_access with (security_invoker = true) as
select
    s.subscription_id,
    s.customer_id,
    c.user_id,
    s.status,
    s.cancel_at as until,
    r.refusal,
    r.refusal is null as grants
from paidonce.subscriptions as s
join paidonce.customers as c on c.customer_id = s.customer_id
cross join paidonce.settings as t
cross join lateral (
    select case
        when c.deleted then 'its customer was deleted'
        when s.ended_at <= now() then 'it has ended'
        when s.status <> all (t.access_statuses) then 'its status is ' || s.status
        when s.pause_behavior = 'void' then 'collection is paused and invoices are voided'
        when s.cancel_at <= now() then 'its scheduled end has passed'
    end as refusal
) as r;

comment on view paidonce.subscription_access is 'Every subscription with whether it grants access, and if not, why.';
comment on column paidonce.subscription_access.subscription_id is 'The subscription.';
comment on column paidonce.subscription_access.customer_id is 'Its customer.';
comment on column paidonce.subscription_access.user_id is 'The customer''s user; null while it is not linked.';
comment on column paidonce.subscription_access.status is 'Stripe''s status.';
comment on column paidonce.subscription_access.until is 'Scheduled end of access (UTC); null when none is scheduled.';
comment on column paidonce.subscription_access.refusal is 'Why it grants nothing; null when it grants.';
comment on column paidonce.subscription_access.grants is 'Whether it grants access.';
call paidonce.only_grant('select', 'table paidonce.subscription_access', 'authenticated', 'service_role');
