-- Purpose:   keep what Stripe says a customer is entitled to. An event carries the first ten only; the refetch brings the rest.
-- Arguments: event, entitlements.active_entitlement_summary.updated.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_entitlement_summary(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id   constant pg_catalog.text := paidonce.read_customer_id(event #> '{data,object}');
    v_kept paidonce.objects;
    v_now  paidonce.objects;
    v_read pg_catalog.record;
begin
    if v_id is null then
        return;
    end if;
    v_kept := (select o::paidonce.objects from paidonce.entitlement_summaries as o where o.customer_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_entitlement_summary(v_now.data);

    insert into paidonce.entitlement_summaries as o (
        customer_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        features, complete
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.features, v_read.complete
    )
    on conflict (customer_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        features = excluded.features, complete = excluded.complete;

    if event ->> 'type' <> 'snapshot' then
        perform paidonce.request_refetch(event, 'entitlements.active_entitlement_summary', v_id);
    end if;
end
$$;

comment on function paidonce.project_entitlement_summary(jsonb) is
    'Keeps what Stripe says a customer is entitled to.';

revoke all on function paidonce.project_entitlement_summary(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_entitlement_summary(jsonb)', variadic '{}');
