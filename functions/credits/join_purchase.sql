-- Purpose:   note that objects belong to one purchase. Each gets a row as soon as it is named, so that a refund and its payment
--            always have a common row to lock and meet at, whichever comes first. The purchase is named after its smallest id, whatever the order.
-- Arguments: customer_id, session_id, invoice_id, payment_ids (intents and charges); any may be null.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the rows of the objects and of the purchases they were in, in order of their ids.
create or replace function paidonce.join_purchase(customer_id text, session_id text, invoice_id text, payment_ids text[])
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_ids  pg_catalog.text[];
    v_from pg_catalog.text[];
    v_seen pg_catalog.text[];
begin
    with named (object_id, kind) as (
        select session_id, 'session' where session_id is not null
        union all
        select invoice_id, 'invoice' where invoice_id is not null
        union all
        select p.id, 'payment' from (select distinct unnest(payment_ids)) as p (id) where p.id is not null
    ),
    made as (
        insert into paidonce.purchase_objects as o (object_id, kind, purchase_id, customer_id)
        select n.object_id, n.kind, n.object_id, join_purchase.customer_id from named as n order by n.object_id
        on conflict on constraint purchase_objects_pkey do nothing
    )
    select array_agg(n.object_id order by n.object_id) into v_ids from named as n;

    -- Lock the objects and the rows that give their purchases their names. A purchase may have been renamed
    -- while this waited, so look again until nothing moved.
    loop
        perform from paidonce.purchase_objects as o
        where o.object_id = any (v_ids || v_from) order by o.object_id for update;

        select array_agg(distinct o.purchase_id order by o.purchase_id) into v_seen
        from paidonce.purchase_objects as o where o.object_id = any (v_ids || v_from);

        exit when v_seen is null or v_seen = v_from;
        v_from := v_seen;
    end loop;

    update paidonce.purchase_objects as o
    set purchase_id = v_from[1], customer_id = coalesce(o.customer_id, join_purchase.customer_id)
    where (o.purchase_id = any (v_from) and o.purchase_id <> v_from[1])
        or (o.object_id = any (v_ids) and o.customer_id is null and join_purchase.customer_id is not null);
end
$$;

comment on function paidonce.join_purchase(text, text, text, text[]) is
    'Notes that a session, an invoice and payments belong to one purchase.';

revoke all on function paidonce.join_purchase(text, text, text, text[]) from public;
call paidonce.only_grant('execute', 'function paidonce.join_purchase(text, text, text, text[])', variadic '{}');
