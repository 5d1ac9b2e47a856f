-- Purpose:   keep a price (or plan of an old API version) as last stated, and grant what waited for it.
-- Arguments: event, any of price.* and plan.*.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_price(event jsonb)
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
    v_kept := (select o::paidonce.objects from paidonce.prices as o where o.price_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_price(v_now.data);

    insert into paidonce.prices as o (
        price_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        active, deleted, product_id, lookup_key, unit_amount, currency, recurring_interval, credits
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.active, v_now.is_final, v_read.product_id, v_read.lookup_key, v_read.unit_amount, v_read.currency,
        v_read.recurring_interval, v_read.credits
    )
    on conflict (price_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        active = excluded.active, deleted = excluded.deleted, product_id = excluded.product_id, lookup_key = excluded.lookup_key,
        unit_amount = excluded.unit_amount, currency = excluded.currency, recurring_interval = excluded.recurring_interval,
        credits = excluded.credits;

    -- Whoever settles a purchase by this price holds its id, shared, which this event has had to wait for.
    if exists (select from paidonce.invoice_lines as l where l.price_id = v_id and l.credits is null) then
        perform paidonce.mark_due('price', v_id, event ->> 'id');
    end if;
end
$$;

comment on function paidonce.project_price(jsonb) is
    'Keeps a price as last stated, and grants what waited for it.';

revoke all on function paidonce.project_price(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_price(jsonb)', variadic '{}');
