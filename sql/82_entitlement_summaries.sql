-- Stripe's own word on what a customer is entitled to.

create table if not exists paidonce.entitlement_summaries (
    as_of timestamptz,
    generation bigint not null default 1,
    as_of_rank bigint not null,
    is_final boolean not null default false,
    complete boolean not null default true,
    livemode boolean,
    customer_id text not null,
    account text,
    source_event text,
    features text[] not null,
    rivals text[] not null default '{}',
    data jsonb,
    constraint entitlement_summaries_pkey primary key (customer_id)
) with (fillfactor = 80);

comment on table paidonce.entitlement_summaries is 'Stripe''s active entitlements, one row per customer, as last stated.';
comment on column paidonce.entitlement_summaries.as_of is 'Stripe''s time of the information in this row (UTC).';
comment on column paidonce.entitlement_summaries.generation is 'Counts every event that spoke of the object; guards a refetch against what arrived meanwhile.';
comment on column paidonce.entitlement_summaries.as_of_rank is 'Rank of the source among those of one second: see paidonce.rank_of.';
comment on column paidonce.entitlement_summaries.is_final is 'The object is in a state that no event leaves.';
comment on column paidonce.entitlement_summaries.complete is 'False while the list goes on beyond the first page that an event carries.';
comment on column paidonce.entitlement_summaries.livemode is 'Stripe''s livemode of the object.';
comment on column paidonce.entitlement_summaries.customer_id is 'The customer.';
comment on column paidonce.entitlement_summaries.account is 'Connected account; null for the platform''s own.';
comment on column paidonce.entitlement_summaries.source_event is 'The event whose information this is; null after a refetch.';
comment on column paidonce.entitlement_summaries.features is 'Lookup keys of the active entitlements.';
comment on column paidonce.entitlement_summaries.rivals is 'Events of the same second and rank that had to be told apart.';
comment on column paidonce.entitlement_summaries.data is 'The whole object as last stated.';

alter table paidonce.entitlement_summaries enable row level security;
drop policy if exists "users read their own entitlement summaries" on paidonce.entitlement_summaries;
create policy "users read their own entitlement summaries" on paidonce.entitlement_summaries for select to public
    using (customer_id in (
        select c.customer_id from paidonce.customers as c
        where c.user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub')
    ));
call paidonce.only_grant('select', 'table paidonce.entitlement_summaries', 'authenticated', 'service_role');
