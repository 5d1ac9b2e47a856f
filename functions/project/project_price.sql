-- Purpose:   keep a price (or plan of an old API version) as last stated, and grant what waited for it.
-- Arguments: event.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row.
create or replace function paidonce.project_price(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id     constant pg_catalog.text := paidonce.read_object_id(event #> '{data,object}');
    v_object pg_catalog.jsonb;
    v_old    pg_catalog.record;
    v_new    pg_catalog.record;
begin
    if v_id is null then
        return;
    end if;
    select o.as_of, o.as_of_rank, o.is_final, o.source_event, o.rivals into v_old
    from paidonce.prices as o where o.price_id = v_id for update;
    v_new := paidonce.newest(event, v_old.as_of, v_old.as_of_rank, v_old.is_final, v_old.source_event, v_old.rivals);
    v_object := v_new.winner #> '{data,object}';

    insert into paidonce.prices as o (
        price_id, account, livemode, as_of, as_of_rank, is_final, source_event, rivals,
        active, deleted, product_id, lookup_key, unit_amount, currency, recurring_interval, credits, data
    )
    select
        v_id, event ->> 'account', paidonce.read_flag(event -> 'livemode'), paidonce.read_time(v_new.winner -> 'created'),
        v_new.as_of_rank, v_new.is_final, v_new.winner ->> 'id', v_new.rivals,
        coalesce(paidonce.read_flag(v_object -> 'active'), true),
        v_new.is_final,
        paidonce.read_object_id(v_object -> 'product'),
        nullif(v_object ->> 'lookup_key', ''),
        coalesce(paidonce.read_integer(v_object -> 'unit_amount'), paidonce.read_integer(v_object -> 'amount')),
        v_object ->> 'currency',
        coalesce(v_object #>> '{recurring,interval}', v_object ->> 'interval'),
        paidonce.read_credits(v_object),
        v_object
    where v_new.winner is not null
    on conflict (price_id) do update
    set as_of = excluded.as_of, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        source_event = excluded.source_event, rivals = excluded.rivals, generation = o.generation + 1,
        active = excluded.active,
        deleted = excluded.deleted,
        product_id = excluded.product_id,
        lookup_key = excluded.lookup_key,
        unit_amount = excluded.unit_amount,
        currency = excluded.currency,
        recurring_interval = excluded.recurring_interval,
        credits = excluded.credits,
        data = excluded.data;

    if not found then
        update paidonce.prices as o set generation = o.generation + 1, rivals = v_new.rivals where o.price_id = v_id;
    end if;

    if v_new.undecided then
        perform paidonce.request_refetch(event, 'price', v_id);
    end if;

    -- Whoever settles a purchase by this price holds its id, shared, which this event has had to wait for.
    if exists (select from paidonce.invoice_lines as l where l.price_id = v_id and l.credits is null) then
        perform paidonce.mark_due('price', v_id, event ->> 'id');
    end if;
end
$$;

comment on function paidonce.project_price(jsonb) is
    'Keeps a price as last stated by events, and grants credits that waited for it.';

revoke all on function paidonce.project_price(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_price(jsonb)', variadic '{}');
