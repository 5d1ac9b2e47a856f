-- Purpose:   read every id that an object names and that belongs to one purchase with it: its own, and those of its subscription,
--            invoice, payment intents and charges.
-- Arguments: object, any Stripe object of any API version, or a list of invoice payments.
-- Returns:   ids, each once, in no order; empty when it names none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_named_ids(object jsonb)
returns text[]
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return array(
        select distinct case jsonb_typeof(n.ref) when 'string' then n.ref #>> '{}' when 'object' then n.ref ->> 'id' end as id
        from (
            select object
            union all
            select object -> k.key
            from unnest('{subscription,invoice,payment_intent,charge,latest_charge}'::pg_catalog.text[]) as k (key)
            where object ? k.key
            union all
            -- Stripe API 2025-03-31 moved an invoice's subscription and payments.
            select object #> '{parent,subscription_details,subscription}' where object ? 'parent'
            union all
            select r.ref
            from (values (object), (object -> 'payments'), (object -> 'charges')) as l (list)
            cross join lateral jsonb_array_elements(case jsonb_typeof(l.list -> 'data') when 'array' then l.list -> 'data' else '[]' end) as e (element)
            cross join lateral (values
                (case when e.element ->> 'object' = 'charge' then e.element end),
                (e.element -> 'invoice'), (e.element #> '{payment,payment_intent}'), (e.element #> '{payment,charge}')
            ) as r (ref)
            where object ?| '{payments,charges,data}'
            union all
            select r.ref
            from (values (object #> '{payment,payment_intent}'), (object #> '{payment,charge}')) as r (ref)
            where object ? 'payment'
        ) as n (ref)
        where n.ref is not null and case jsonb_typeof(n.ref) when 'string' then n.ref #>> '{}' when 'object' then n.ref ->> 'id' end <> ''
    );
end
$$;

comment on function paidonce.read_named_ids(jsonb) is
    'Every id of one purchase that an object names, its own among them.';

revoke all on function paidonce.read_named_ids(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_named_ids(jsonb)', variadic '{}');
