-- Purpose:   say what belongs together with some objects, customers and users, by the facts that are stored now.
-- Arguments: as paidonce.lock_set.
-- Returns:   exclusive and shared, numbers of advisory locks; customer_ids, in order.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.lock_set_of(ids text[], customers text[], users text[], goods text[],
    out exclusive bigint[], out shared bigint[], out customer_ids text[])
returns record
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_objects pg_catalog.text[];
    v_users   pg_catalog.text[] := users;
    v_goods   pg_catalog.text[] := goods;
begin
    customer_ids := customers;
    select array_agg(o.object_id), array_agg(o.customer_id) filter (where o.customer_id is not null)
    into v_objects, customer_ids
    from paidonce.purchase_objects as o
    where o.purchase_id in (select n.purchase_id from paidonce.purchase_objects as n where n.object_id = any (ids));
    customer_ids := array(select distinct c.id from unnest(customer_ids || customers) as c (id) where c.id is not null order by 1);
    if v_objects is not null then
        v_users := v_users || array(
            select s.user_id from paidonce.checkout_sessions as s where s.session_id = any (v_objects) and s.user_id is not null
            union all
            select p.user_id from paidonce.payments as p where p.payment_id = any (v_objects) and p.user_id is not null
        );
        v_goods := v_goods || array(
            select g.id
            from paidonce.invoice_lines as l
            cross join lateral (values (l.price_id), (l.product_id)) as g (id)
            where l.invoice_id = any (v_objects) and l.credits is null and g.id is not null
        );
    end if;
    v_users := v_users || array(
        select c.user_id from paidonce.customers as c where c.customer_id = any (lock_set_of.customer_ids) and c.user_id is not null
    );
    if v_goods <> '{}' then
        v_goods := v_goods || array(select p.product_id from paidonce.prices as p where p.price_id = any (v_goods) and p.product_id is not null);
    end if;
    exclusive := array(
        select distinct hashtextextended(k.id, 0)
        from (select unnest(ids || v_objects) union all select 'user:' || unnest(v_users)) as k (id)
        where k.id is not null
    );
    shared := array(select distinct hashtextextended(k.id, 0) from unnest(v_goods) as k (id) where k.id is not null);
end
$$;

comment on function paidonce.lock_set_of(text[], text[], text[], text[]) is
    'What belongs together with some objects, customers and users, as numbers of advisory locks and rows of customers.';

revoke all on function paidonce.lock_set_of(text[], text[], text[], text[]) from public;
call paidonce.only_grant('execute', 'function paidonce.lock_set_of(text[], text[], text[], text[])', variadic '{}');
