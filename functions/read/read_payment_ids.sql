-- Purpose:   read which payment intent and charges a payment names.
-- Arguments: object, a payment intent, charge, refund or dispute of any API version. Before 2022-11-15 an intent listed its charges, since
--            then it names the latest.
-- Returns:   ids, sorted; the object's own among them when it is an intent or a charge.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_payment_ids(object jsonb)
returns text[]
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return array(
        select distinct r.id
        from (
            select case when object ->> 'object' in ('payment_intent', 'charge') then paidonce.read_object_id(object) end
            union all
            select paidonce.read_object_id(object -> 'payment_intent')
            union all
            select paidonce.read_object_id(object -> 'charge')
            union all
            select paidonce.read_object_id(object -> 'latest_charge')
            union all
            select paidonce.read_object_id(c.charge)
            from jsonb_array_elements(
                case jsonb_typeof(object #> '{charges,data}') when 'array' then object #> '{charges,data}' else '[]' end
            ) as c (charge)
        ) as r (id)
        where r.id is not null
        order by 1
    );
end
$$;

comment on function paidonce.read_payment_ids(jsonb) is
    'Payment intent and charges that a payment, refund or dispute names, from any of their places.';

revoke all on function paidonce.read_payment_ids(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_payment_ids(jsonb)', variadic '{}');
