-- Purpose:   keep a product as last stated, and grant what waited for it.
-- Arguments: event, any of product.*.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_product(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id   constant pg_catalog.text := paidonce.read_object_id(event #> '{data,object}');
    v_kept paidonce.objects;
    v_now  paidonce.objects;
    v_read pg_catalog.record;
begin
    if v_id is null then
        return;
    end if;
    v_kept := (select o::paidonce.objects from paidonce.products as o where o.product_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_product(v_now.data);

    insert into paidonce.products as o (
        product_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        active, deleted, name, features, credits
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.active, v_now.is_final, v_read.name, v_read.features, v_read.credits
    )
    on conflict (product_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        active = excluded.active, deleted = excluded.deleted, name = excluded.name, features = excluded.features,
        credits = excluded.credits;

    -- Whoever settles a purchase by this product holds its id, shared, which this event has had to wait for.
    if exists (select from paidonce.invoice_lines as l where l.credits is null and l.price_id is not null
        and coalesce(l.product_id, (select p.product_id from paidonce.prices as p where p.price_id = l.price_id)) = v_id) then
        perform paidonce.mark_due('product', v_id, event ->> 'id');
    end if;
end
$$;

comment on function paidonce.project_product(jsonb) is
    'Keeps a product as last stated, and grants what waited for it.';

revoke all on function paidonce.project_product(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_product(jsonb)', variadic '{}');
