-- Purpose:   keep what Stripe says a customer is entitled to. An event carries the first ten only; the refetch brings the rest.
-- Arguments: event.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row.
create or replace function paidonce.project_entitlement_summary(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id     constant pg_catalog.text := paidonce.read_customer_id(event #> '{data,object}');
    v_object pg_catalog.jsonb;
    v_old    pg_catalog.record;
    v_new    pg_catalog.record;
begin
    if v_id is null then
        return;
    end if;
    select o.as_of, o.as_of_rank, o.is_final, o.source_event, o.rivals into v_old
    from paidonce.entitlement_summaries as o where o.customer_id = v_id for update;
    v_new := paidonce.newest(event, v_old.as_of, v_old.as_of_rank, v_old.is_final, v_old.source_event, v_old.rivals);
    v_object := v_new.winner #> '{data,object}';

    insert into paidonce.entitlement_summaries as o (
        customer_id, account, livemode, as_of, as_of_rank, is_final, source_event, rivals,
        features, complete, data
    )
    select
        v_id, event ->> 'account', paidonce.read_flag(event -> 'livemode'), paidonce.read_time(v_new.winner -> 'created'),
        v_new.as_of_rank, v_new.is_final, v_new.winner ->> 'id', v_new.rivals,
        array(
            select distinct e.entitlement ->> 'lookup_key'
            from jsonb_array_elements(
                case jsonb_typeof(v_object #> '{entitlements,data}') when 'array' then v_object #> '{entitlements,data}' else '[]' end
            ) as e (entitlement)
            where e.entitlement ->> 'lookup_key' <> ''
            order by 1
        ),
        not coalesce(paidonce.read_flag(v_object #> '{entitlements,has_more}'), false),
        v_object
    where v_new.winner is not null
    on conflict (customer_id) do update
    set as_of = excluded.as_of, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        source_event = excluded.source_event, rivals = excluded.rivals, generation = o.generation + 1,
        features = excluded.features,
        complete = excluded.complete,
        data = excluded.data;

    if not found then
        update paidonce.entitlement_summaries as o set generation = o.generation + 1, rivals = v_new.rivals where o.customer_id = v_id;
    end if;

    if event ->> 'type' <> 'snapshot' then
        perform paidonce.request_refetch(event, 'entitlements.active_entitlement_summary', v_id);
    end if;
end
$$;

comment on function paidonce.project_entitlement_summary(jsonb) is
    'Keeps what Stripe says a customer is entitled to.';

revoke all on function paidonce.project_entitlement_summary(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_entitlement_summary(jsonb)', variadic '{}');
