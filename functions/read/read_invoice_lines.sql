-- Purpose:   read what an invoice bills.
-- Arguments: object, an invoice of any API version. Until 2025-03-31 a line had its price (earlier: plan), proration and subscription itself, since
--            then in pricing.price_details and parent.*_details; early lines had the id of their subscription.
-- Returns:   one row per line, as far as it has an id, each id once. stated_credits and price_stated: where the line carries the whole price.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_invoice_lines(object jsonb)
returns table (
    line_id text, price_id text, product_id text, subscription_id text, amount bigint, quantity bigint, proration boolean,
    stated_credits bigint, price_stated boolean, period_start timestamptz, period_end timestamptz
)
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return query
    select distinct on (1)
        n.line ->> 'id',
        coalesce(
            paidonce.read_object_id(n.line #> '{pricing,price_details,price}'),
            paidonce.read_object_id(n.line -> 'price'),
            paidonce.read_object_id(n.line -> 'plan')
        ),
        coalesce(
            paidonce.read_object_id(n.line #> '{pricing,price_details,product}'),
            paidonce.read_object_id(n.line #> '{price,product}'),
            paidonce.read_object_id(n.line #> '{plan,product}')
        ),
        coalesce(
            paidonce.read_object_id(n.line -> 'subscription'),
            paidonce.read_object_id(n.line #> '{parent,subscription_item_details,subscription}'),
            paidonce.read_object_id(n.line #> '{parent,invoice_item_details,subscription}'),
            case when n.line ->> 'id' like 'sub\_%' then n.line ->> 'id' end
        ),
        case when jsonb_typeof(n.line -> 'amount') = 'number' and abs((n.line -> 'amount')::numeric) < 9223372036854775808
            then trunc((n.line -> 'amount')::numeric)::bigint end,
        case when jsonb_typeof(n.line -> 'quantity') = 'number' and abs((n.line -> 'quantity')::numeric) < 9223372036854775808
            then trunc((n.line -> 'quantity')::numeric)::bigint end,
        case 'boolean'
            when jsonb_typeof(n.line -> 'proration') then n.line -> 'proration'
            when jsonb_typeof(n.line #> '{parent,subscription_item_details,proration}') then
                n.line #> '{parent,subscription_item_details,proration}'
            when jsonb_typeof(n.line #> '{parent,invoice_item_details,proration}') then
                n.line #> '{parent,invoice_item_details,proration}'
            else 'false'
        end = 'true',
        case when btrim(w.price #>> '{metadata,credits}') ~ '^[0-9]{1,12}$' then btrim(w.price #>> '{metadata,credits}')::bigint end,
        w.price is not null,
        case when jsonb_typeof(n.line #> '{period,start}') = 'number' and (n.line #> '{period,start}')::numeric between 0 and 253402300799
            then to_timestamp((n.line #> '{period,start}')::double precision) end,
        case when jsonb_typeof(n.line #> '{period,end}') = 'number' and (n.line #> '{period,end}')::numeric between 0 and 253402300799
            then to_timestamp((n.line #> '{period,end}')::double precision) end
    from jsonb_array_elements(case jsonb_typeof(object #> '{lines,data}') when 'array' then object #> '{lines,data}' else '[]' end) as n (line)
    cross join lateral (
        select case 'object'
            when jsonb_typeof(n.line #> '{pricing,price_details,price}') then n.line #> '{pricing,price_details,price}'
            when jsonb_typeof(n.line -> 'price') then n.line -> 'price'
            when jsonb_typeof(n.line -> 'plan') then n.line -> 'plan'
        end as price
    ) as w
    where n.line ->> 'id' is not null
    order by 1, n.line::pg_catalog.text;
end
$$;

comment on function paidonce.read_invoice_lines(jsonb) is
    'The lines of an invoice of any API version.';

revoke all on function paidonce.read_invoice_lines(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_invoice_lines(jsonb)', variadic '{}');
