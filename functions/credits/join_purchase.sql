-- Purpose:   note that objects belong to one purchase. Each gets a row as soon as it is named, so that a refund and its payment
--            always have a common row to lock and meet at, whichever comes first. The purchase is named after its smallest id, whatever the order.
-- Arguments: customer_id, session_id, invoice_id, payment_ids (intents and charges); any may be null.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the rows that it writes; all of them belong to the set that paidonce.lock_set has locked.
create or replace function paidonce.join_purchase(customer_id text, session_id text, invoice_id text, payment_ids text[])
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_ids   constant pg_catalog.text[] := array_remove(array[session_id, invoice_id] || payment_ids, null);
    v_known bigint;
    v_bare  boolean;
    v_from  pg_catalog.text[];
    v_name  pg_catalog.text;
begin
    if v_ids = '{}' then
        return;
    end if;
    select count(*), bool_or(o.customer_id is null), array_agg(distinct o.purchase_id) into v_known, v_bare, v_from
    from paidonce.purchase_objects as o where o.object_id = any (v_ids);
    if v_known = (select count(distinct i.id) from unnest(v_ids) as i (id)) and cardinality(v_from) = 1
        and (customer_id is null or not v_bare) then
        return; -- all of it is known
    end if;
    select min(i.id) into v_name from unnest(v_ids || v_from) as i (id);
    insert into paidonce.purchase_objects as o (object_id, kind, purchase_id, customer_id)
    select i.id, case i.id when session_id then 'session' when invoice_id then 'invoice' else 'payment' end, v_name, join_purchase.customer_id
    from (select distinct unnest(v_ids)) as i (id)
    order by i.id
    on conflict on constraint purchase_objects_pkey do nothing;
    update paidonce.purchase_objects as o
    set purchase_id = v_name, customer_id = coalesce(o.customer_id, case when o.object_id = any (v_ids) then join_purchase.customer_id end)
    where (o.purchase_id = any (v_from) and o.purchase_id <> v_name)
        or (o.object_id = any (v_ids) and o.customer_id is null and join_purchase.customer_id is not null);
end
$$;

comment on function paidonce.join_purchase(text, text, text, text[]) is
    'Notes that a session, an invoice and payments belong to one purchase.';

revoke all on function paidonce.join_purchase(text, text, text, text[]) from public;
call paidonce.only_grant('execute', 'function paidonce.join_purchase(text, text, text, text[])', variadic '{}');
