-- Products, prices, and the mapping from prices to features and credits.

create table if not exists paidonce.products (
    credits bigint,
    active boolean not null default true,
    deleted boolean not null default false,
    product_id text not null,
    name text,
    features text[] not null default '{}',
    constraint products_pkey primary key (product_id)
) inherits (paidonce.objects) with (fillfactor = 80);

comment on table paidonce.products is 'Stripe products as last stated. A deleted one stays, marked.';
comment on column paidonce.products.credits is 'Credits per unit from its metadata key credits; null when there is none.';
comment on column paidonce.products.active is 'Whether it is offered.';
comment on column paidonce.products.deleted is 'Stripe deleted the product; the row stays.';
comment on column paidonce.products.product_id is 'Stripe''s product id (prod_...).';
comment on column paidonce.products.name is 'Its name.';
comment on column paidonce.products.features is 'Feature names from its metadata: feature, or features separated by commas.';
call paidonce.finish_objects('paidonce.products');

-- Products that are no longer offered stay readable for whoever still has them.
alter table paidonce.products enable row level security;
call paidonce.read_policy('paidonce.products', 'anon', 'everyone reads active products', 'active and not deleted');
call paidonce.read_policy('paidonce.products', 'authenticated', 'users read active products and those of their own subscriptions',
    $$active and not deleted or product_id in (
        select i.product_id
        from paidonce.customers as c
        join paidonce.subscriptions as s on s.customer_id = c.customer_id
        join paidonce.subscription_items as i on i.subscription_id = s.subscription_id
        where c.user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub')
    )$$);
call paidonce.only_grant('select', 'table paidonce.products', 'anon', 'authenticated', 'service_role');

create table if not exists paidonce.prices (
    unit_amount bigint,
    credits bigint,
    active boolean not null default true,
    deleted boolean not null default false,
    price_id text not null,
    product_id text,
    lookup_key text,
    currency text,
    recurring_interval text,
    constraint prices_pkey primary key (price_id)
) inherits (paidonce.objects) with (fillfactor = 80);

comment on table paidonce.prices is 'Stripe prices, and the plans of old API versions, as last stated. A deleted one stays, marked.';
comment on column paidonce.prices.unit_amount is 'Price of one unit in minor units; null where it is tiered or has fractions.';
comment on column paidonce.prices.credits is 'Credits per unit from its metadata key credits; null when there is none.';
comment on column paidonce.prices.active is 'Whether it is offered.';
comment on column paidonce.prices.deleted is 'Stripe deleted the price; the row stays.';
comment on column paidonce.prices.price_id is 'Stripe''s price id (price_...), or plan id.';
comment on column paidonce.prices.product_id is 'Its product.';
comment on column paidonce.prices.lookup_key is 'Stripe''s lookup_key: the feature it grants.';
comment on column paidonce.prices.currency is 'Three-letter currency of the amounts, lower case.';
comment on column paidonce.prices.recurring_interval is 'day, week, month or year; null for one-off prices.';
call paidonce.finish_objects('paidonce.prices');

create index if not exists prices_product_id_idx on paidonce.prices (product_id);

alter table paidonce.prices enable row level security;
call paidonce.read_policy('paidonce.prices', 'anon', 'everyone reads active prices', 'active and not deleted');
call paidonce.read_policy('paidonce.prices', 'authenticated', 'users read active prices and those of their own subscriptions',
    $$active and not deleted or price_id in (
        select i.price_id
        from paidonce.customers as c
        join paidonce.subscriptions as s on s.customer_id = c.customer_id
        join paidonce.subscription_items as i on i.subscription_id = s.subscription_id
        where c.user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub')
    )$$);
call paidonce.only_grant('select', 'table paidonce.prices', 'anon', 'authenticated', 'service_role');

create table if not exists paidonce.price_grants (
    credits bigint,
    price_id text not null,
    feature text,
    constraint price_grants_one_row_per_feature unique nulls not distinct (price_id, feature),
    constraint price_grants_credits_are_not_negative check (credits >= 0),
    constraint price_grants_grants_something check (feature is not null or credits is not null)
);

comment on table paidonce.price_grants is 'The mapping table, yours to fill: what a price grants where lookup_key and metadata do not say it. Several rows per price name several features.';
comment on column paidonce.price_grants.credits is 'Credits per unit; goes before what the metadata of price and product says. Several rows of one price count once, with the largest.';
comment on column paidonce.price_grants.price_id is 'The price, or in old API versions the plan.';
comment on column paidonce.price_grants.feature is 'A feature it grants; null where the row only says credits.';

alter table paidonce.price_grants enable row level security;
drop policy if exists "users read what their own prices grant" on paidonce.price_grants;
create policy "users read what their own prices grant" on paidonce.price_grants for select to public
    using (price_id in (
        select i.price_id
        from paidonce.customers as c
        join paidonce.subscriptions as s on s.customer_id = c.customer_id
        join paidonce.subscription_items as i on i.subscription_id = s.subscription_id
        where c.user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub')
    ));
call paidonce.only_grant('select (price_id, feature)', 'table paidonce.price_grants', 'authenticated', 'service_role');
