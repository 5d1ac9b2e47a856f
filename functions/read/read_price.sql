-- Purpose:   read what a price says.
-- Arguments: object, a price, or a plan of an old API version (its amount and interval stood elsewhere).
-- Returns:   its facts; null what it does not say.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_price(
    object jsonb,
    out active boolean, out product_id text, out lookup_key text, out unit_amount bigint, out currency text,
    out recurring_interval text, out credits bigint
)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    active := object -> 'active' is distinct from 'false';
    product_id := case 'string' when jsonb_typeof(object -> 'product') then nullif(object ->> 'product', '')
        when jsonb_typeof(object #> '{product,id}') then nullif(object #>> '{product,id}', '') end;
    lookup_key := nullif(object ->> 'lookup_key', '');
    unit_amount := case when jsonb_typeof(object -> 'unit_amount') = 'number'
            and abs((object -> 'unit_amount')::numeric) < 9223372036854775808
        then trunc((object -> 'unit_amount')::numeric)::bigint end;
    if unit_amount is null then
        unit_amount := case when jsonb_typeof(object -> 'amount') = 'number' and abs((object -> 'amount')::numeric) < 9223372036854775808
            then trunc((object -> 'amount')::numeric)::bigint end;
    end if;
    currency := object ->> 'currency';
    recurring_interval := coalesce(object #>> '{recurring,interval}', object ->> 'interval');
    credits := case when btrim(object #>> '{metadata,credits}') ~ '^[0-9]{1,12}$' then btrim(object #>> '{metadata,credits}')::bigint end;
end
$$;

comment on function paidonce.read_price(jsonb) is
    'What a price, or a plan of an old API version, says.';

revoke all on function paidonce.read_price(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_price(jsonb)', variadic '{}');
