-- Purpose:   keep a customer as last stated. Deleted is final.
-- Arguments: event, customer.created, updated or deleted.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_customer(event jsonb)
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
    v_kept := (select o::paidonce.objects from paidonce.customers as o where o.customer_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_customer(v_now.data);

    insert into paidonce.customers as o (
        customer_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        deleted, email, name
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_now.is_final, v_read.email, v_read.name
    )
    on conflict (customer_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        deleted = excluded.deleted, email = excluded.email, name = excluded.name;

    if event #> '{data,object,metadata}' <> '{}' then
        perform paidonce.link_from_metadata(event, event #> '{data,object}', v_id);
    end if;
end
$$;

comment on function paidonce.project_customer(jsonb) is
    'Keeps a customer as last stated.';

revoke all on function paidonce.project_customer(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_customer(jsonb)', variadic '{}');
