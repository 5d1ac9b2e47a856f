-- Subscriptions and their items.

create table if not exists paidonce.subscriptions (
    created timestamptz,
    current_period_start timestamptz,
    current_period_end timestamptz,
    trial_end timestamptz,
    cancel_at timestamptz,
    canceled_at timestamptz,
    ended_at timestamptz,
    subscription_id text not null,
    customer_id text,
    status text not null,
    pause_behavior text,
    constraint subscriptions_pkey primary key (subscription_id)
) inherits (paidonce.objects) with (fillfactor = 80);

comment on table paidonce.subscriptions is 'Stripe subscriptions as last stated. Never deleted: a canceled one stays, as canceled.';
comment on column paidonce.subscriptions.created is 'When the subscription was made (UTC).';
comment on column paidonce.subscriptions.current_period_start is 'Start of the current period (UTC): of the subscription, or since API 2025-03-31 of the item that ends first.';
comment on column paidonce.subscriptions.current_period_end is 'End of the current period (UTC), from the same place.';
comment on column paidonce.subscriptions.trial_end is 'End of the trial (UTC).';
comment on column paidonce.subscriptions.cancel_at is 'Scheduled end (UTC): Stripe''s cancel_at, or the period''s end where only cancel_at_period_end is set. Null when nothing is scheduled.';
comment on column paidonce.subscriptions.canceled_at is 'When the cancellation was asked for (UTC).';
comment on column paidonce.subscriptions.ended_at is 'When it ended (UTC); ends access at once.';
comment on column paidonce.subscriptions.subscription_id is 'Stripe''s subscription id (sub_...).';
comment on column paidonce.subscriptions.customer_id is 'The customer it belongs to.';
comment on column paidonce.subscriptions.status is 'Stripe''s status. canceled and incomplete_expired are final.';
comment on column paidonce.subscriptions.pause_behavior is 'pause_collection.behavior: void, keep_as_draft or mark_uncollectible; null when collection is not paused.';
call paidonce.finish_objects('paidonce.subscriptions');

create index if not exists subscriptions_customer_id_idx on paidonce.subscriptions (customer_id);

alter table paidonce.subscriptions enable row level security;
drop policy if exists "users read their own subscriptions" on paidonce.subscriptions;
create policy "users read their own subscriptions" on paidonce.subscriptions for select to public
    using (customer_id in (
        select c.customer_id from paidonce.customers as c
        where c.user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub')
    ));
call paidonce.only_grant('select', 'table paidonce.subscriptions', 'authenticated', 'service_role');

create table if not exists paidonce.subscription_items (
    current_period_start timestamptz,
    current_period_end timestamptz,
    quantity bigint,
    item_id text not null,
    subscription_id text not null,
    price_id text,
    product_id text,
    lookup_key text,
    constraint subscription_items_pkey primary key (subscription_id, item_id),
    constraint subscription_items_subscription_id_fkey foreign key (subscription_id)
        references paidonce.subscriptions (subscription_id) on delete cascade
) with (fillfactor = 80);

comment on table paidonce.subscription_items is 'What each subscription is for, as last stated. Replaced as a whole with its subscription; order means nothing.';
comment on column paidonce.subscription_items.current_period_start is 'Start of the item''s period (UTC); null before API 2025-03-31, where the subscription has it.';
comment on column paidonce.subscription_items.current_period_end is 'End of the item''s period (UTC); likewise.';
comment on column paidonce.subscription_items.quantity is 'How many; null for metered prices.';
comment on column paidonce.subscription_items.item_id is 'Stripe''s item id (si_...); <subscription_id>:plan where old API versions state a plan without items.';
comment on column paidonce.subscription_items.subscription_id is 'The subscription it belongs to.';
comment on column paidonce.subscription_items.price_id is 'The price, or in old API versions the plan.';
comment on column paidonce.subscription_items.product_id is 'The price''s product.';

comment on column paidonce.subscription_items.lookup_key is 'The price''s lookup_key as the subscription carried it; paidonce.prices goes first where it knows the price.';

create index if not exists subscription_items_price_id_idx on paidonce.subscription_items (price_id);

alter table paidonce.subscription_items enable row level security;
drop policy if exists "users read their own subscription items" on paidonce.subscription_items;
create policy "users read their own subscription items" on paidonce.subscription_items for select to public
    using (subscription_id in (
        select s.subscription_id
        from paidonce.subscriptions as s
        join paidonce.customers as c on c.customer_id = s.customer_id
        where c.user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub')
    ));
call paidonce.only_grant('select', 'table paidonce.subscription_items', 'authenticated', 'service_role');
