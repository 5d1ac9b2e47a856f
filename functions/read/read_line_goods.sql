-- Purpose:   read which prices and products the lines of an invoice are about.
-- Arguments: object, an invoice of any API version; anything else names none.
-- Returns:   ids of prices, plans and products, each once, in no order; empty when there are none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_line_goods(object jsonb)
returns text[]
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    if object ->> 'object' is distinct from 'invoice' or jsonb_typeof(object #> '{lines,data}') is distinct from 'array' then
        return array[]::pg_catalog.text[];
    end if;
    return array(
        select distinct case jsonb_typeof(r.ref) when 'string' then r.ref #>> '{}' when 'object' then r.ref ->> 'id' end
        from jsonb_array_elements(object #> '{lines,data}') as l (line)
        cross join lateral (values
            (l.line #> '{pricing,price_details,price}'), (l.line #> '{pricing,price_details,product}'),
            (l.line -> 'price'), (l.line #> '{price,product}'), (l.line -> 'plan'), (l.line #> '{plan,product}')
        ) as r (ref)
        where jsonb_typeof(r.ref) in ('string', 'object')
    );
end
$$;

comment on function paidonce.read_line_goods(jsonb) is
    'Prices and products that the lines of an invoice are about.';

revoke all on function paidonce.read_line_goods(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_line_goods(jsonb)', variadic '{}');
