-- Purpose:   keep a subscription and its items as last stated, and ask for a refetch, which has the last word.
--            canceled and incomplete_expired are final: no event leaves them.
-- Arguments: event, any of customer.subscription.*.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_subscription(event jsonb)
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
    v_kept := (select o::paidonce.objects from paidonce.subscriptions as o where o.subscription_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_subscription(v_now.data);

    insert into paidonce.subscriptions as o (
        subscription_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        customer_id, status, created, current_period_start, current_period_end, trial_end, cancel_at, canceled_at, ended_at,
        pause_behavior
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.customer_id, v_read.status, v_read.created, v_read.current_period_start, v_read.current_period_end, v_read.trial_end,
        v_read.cancel_at, v_read.canceled_at, v_read.ended_at, v_read.pause_behavior
    )
    on conflict (subscription_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        customer_id = excluded.customer_id, status = excluded.status, created = excluded.created,
        current_period_start = excluded.current_period_start, current_period_end = excluded.current_period_end,
        trial_end = excluded.trial_end, cancel_at = excluded.cancel_at, canceled_at = excluded.canceled_at,
        ended_at = excluded.ended_at, pause_behavior = excluded.pause_behavior;

    -- Most changes of a subscription leave its items as they were.
    if v_kept.data -> 'items' is distinct from v_now.data -> 'items' or v_now.data -> 'items' is null then
        perform paidonce.replace_subscription_items(v_id, v_now.data);
    end if;

    if event #> '{data,object,metadata}' <> '{}' then
        perform paidonce.link_from_metadata(event, event #> '{data,object}', paidonce.read_customer_id(event #> '{data,object}'));
    end if;
    if event ->> 'type' <> 'snapshot' then
        perform paidonce.request_refetch(event, 'subscription', v_id);
    end if;
end
$$;

comment on function paidonce.project_subscription(jsonb) is
    'Keeps a subscription and its items as last stated, and asks for a refetch.';

revoke all on function paidonce.project_subscription(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_subscription(jsonb)', variadic '{}');
