-- Purpose:   read what a subscription is for.
-- Arguments: object, a subscription of any API version. Before items there was one plan and one quantity. Prices and plans stand there by id or
--            expanded; only an expanded price has a lookup key (API 2020-08-27 and later).
-- Returns:   one row per item, as far as it has an id, each id once.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_subscription_items(object jsonb)
returns table (
    item_id text, price_id text, product_id text, lookup_key text, quantity bigint,
    current_period_start timestamptz, current_period_end timestamptz
)
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return query
    select distinct on (1)
        n.item ->> 'id',
        coalesce(paidonce.read_object_id(n.item -> 'price'),
            paidonce.read_object_id(n.item -> 'plan')),
        coalesce(paidonce.read_object_id(n.item #> '{price,product}'),
            paidonce.read_object_id(n.item #> '{plan,product}')),
        nullif(n.item #>> '{price,lookup_key}', ''),
        case when jsonb_typeof(n.item -> 'quantity') = 'number' and abs((n.item -> 'quantity')::numeric) < 9223372036854775808
            then trunc((n.item -> 'quantity')::numeric)::bigint end,
        case when jsonb_typeof(n.item -> 'current_period_start') = 'number' and (n.item -> 'current_period_start')::numeric between 0 and 253402300799
            then to_timestamp((n.item -> 'current_period_start')::double precision) end,
        case when jsonb_typeof(n.item -> 'current_period_end') = 'number' and (n.item -> 'current_period_end')::numeric between 0 and 253402300799
            then to_timestamp((n.item -> 'current_period_end')::double precision) end
    from jsonb_array_elements(case
        when jsonb_typeof(object #> '{items,data}') = 'array' and object #> '{items,data}' <> '[]' then object #> '{items,data}'
        when jsonb_typeof(object -> 'plan') = 'object' then jsonb_build_array(jsonb_build_object(
            'id', (object ->> 'id') || ':plan', 'plan', object -> 'plan', 'quantity', object -> 'quantity'
        ))
        else '[]'
    end) as n (item)
    where n.item ->> 'id' is not null
    order by 1, n.item::pg_catalog.text;
end
$$;

comment on function paidonce.read_subscription_items(jsonb) is
    'The items of a subscription; one made of its plan where old API versions state no items.';

revoke all on function paidonce.read_subscription_items(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_subscription_items(jsonb)', variadic '{}');
