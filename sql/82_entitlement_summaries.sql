-- Stripe's own word on what a customer is entitled to.

create table if not exists paidonce.entitlement_summaries (
    complete boolean not null default true,
    customer_id text not null,
    features text[] not null,
    constraint entitlement_summaries_pkey primary key (customer_id)
) inherits (paidonce.objects) with (fillfactor = 80);

comment on table paidonce.entitlement_summaries is 'Stripe''s active entitlements, one row per customer, as last stated.';
comment on column paidonce.entitlement_summaries.complete is 'False while the list goes on beyond the first page that an event carries.';
comment on column paidonce.entitlement_summaries.customer_id is 'The customer.';
comment on column paidonce.entitlement_summaries.features is 'Lookup keys of the active entitlements.';
call paidonce.finish_objects('paidonce.entitlement_summaries');

alter table paidonce.entitlement_summaries enable row level security;
drop policy if exists "users read their own entitlement summaries" on paidonce.entitlement_summaries;
create policy "users read their own entitlement summaries" on paidonce.entitlement_summaries for select to public
    using (customer_id in (
        select c.customer_id from paidonce.customers as c
        where c.user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub')
    ));
call paidonce.only_grant('select', 'table paidonce.entitlement_summaries', 'authenticated', 'service_role');
