-- Purpose:   keep a customer as last stated. Deleted is final.
-- Arguments: event, customer.created, updated or deleted.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the customer's row.
create or replace function paidonce.project_customer(event jsonb)
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
    select c.as_of, c.as_of_rank, c.deleted, c.source_event, c.rivals into v_old
    from paidonce.customers as c where c.customer_id = v_id for update;
    v_new := paidonce.newest(event, v_old.as_of, v_old.as_of_rank, v_old.deleted, v_old.source_event, v_old.rivals);
    v_object := v_new.winner #> '{data,object}';

    -- The row is there: paidonce.lock_set made it.
    update paidonce.customers as c
    set generation = c.generation + 1, rivals = v_new.rivals
    where c.customer_id = v_id;

    if v_new.winner is not null then
        update paidonce.customers as c
        set account = event ->> 'account', livemode = paidonce.read_flag(event -> 'livemode'), deleted = v_new.is_final,
            email = v_object ->> 'email', name = v_object ->> 'name', data = v_object,
            as_of = paidonce.read_time(v_new.winner -> 'created'), as_of_rank = v_new.as_of_rank, source_event = v_new.winner ->> 'id'
        where c.customer_id = v_id;
    end if;
    if v_new.undecided then
        perform paidonce.request_refetch(event, 'customer', v_id);
    end if;

    perform paidonce.link_from_metadata(event, event #> '{data,object}', v_id);
end
$$;

comment on function paidonce.project_customer(jsonb) is
    'Keeps a customer as last stated by events.';

revoke all on function paidonce.project_customer(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_customer(jsonb)', variadic '{}');
