-- Which features the items of a subscription stand for.

create or replace view paidonce.item_features with (security_invoker = true) as
select i.subscription_id, i.item_id, i.price_id, f.feature
from paidonce.subscription_items as i
left join paidonce.prices as p on p.price_id = i.price_id
left join paidonce.products as o on o.product_id = coalesce(i.product_id, p.product_id)
cross join lateral (
    select coalesce(p.lookup_key, i.lookup_key) as feature
    union
    select unnest(o.features)
    union
    select g.feature from paidonce.price_grants as g where g.price_id = i.price_id
) as f
where f.feature is not null;

comment on view paidonce.item_features is 'The features of every subscription item: the price''s lookup_key, its product''s metadata, the mapping table.';
comment on column paidonce.item_features.subscription_id is 'The subscription.';
comment on column paidonce.item_features.item_id is 'The item.';
comment on column paidonce.item_features.price_id is 'Its price.';
comment on column paidonce.item_features.feature is 'A feature it stands for.';
call paidonce.only_grant('select', 'table paidonce.item_features', 'authenticated', 'service_role');
