-- Purpose:   keep a subscription and its items as last stated, and ask for a refetch, which has the last word.
--            canceled and incomplete_expired are final: no event leaves them.
-- Arguments: event, any of customer.subscription.*.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the subscription's row and its items.
create or replace function paidonce.project_subscription(event jsonb)
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
    v_period pg_catalog.record;
begin
    if v_id is null then
        return;
    end if;
    select s.as_of, s.as_of_rank, s.is_final, s.source_event, s.rivals, s.data -> 'items' as items into v_old
    from paidonce.subscriptions as s where s.subscription_id = v_id for update;
    v_new := paidonce.newest(event, v_old.as_of, v_old.as_of_rank, v_old.is_final, v_old.source_event, v_old.rivals);
    v_object := v_new.winner #> '{data,object}';
    v_period := paidonce.read_subscription_period(v_object);

    insert into paidonce.subscriptions as s (
        subscription_id, account, livemode, as_of, as_of_rank, is_final, source_event, rivals,
        customer_id, status, created, current_period_start, current_period_end, trial_end,
        cancel_at, canceled_at, ended_at, pause_behavior, data
    )
    select
        v_id, event ->> 'account', paidonce.read_flag(event -> 'livemode'), paidonce.read_time(v_new.winner -> 'created'),
        v_new.as_of_rank, v_new.is_final, v_new.winner ->> 'id', v_new.rivals,
        paidonce.read_customer_id(v_object), coalesce(v_object ->> 'status', 'unknown'), paidonce.read_time(v_object -> 'created'),
        v_period.period_start, v_period.period_end, paidonce.read_time(v_object -> 'trial_end'),
        paidonce.read_subscription_cancel_at(v_object), paidonce.read_time(v_object -> 'canceled_at'),
        paidonce.read_time(v_object -> 'ended_at'), paidonce.read_pause_behavior(v_object), v_object
    where v_new.winner is not null
    on conflict (subscription_id) do update
    set as_of = excluded.as_of, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        source_event = excluded.source_event, rivals = excluded.rivals, generation = s.generation + 1,
        customer_id = excluded.customer_id, status = excluded.status, created = excluded.created,
        current_period_start = excluded.current_period_start, current_period_end = excluded.current_period_end,
        trial_end = excluded.trial_end, cancel_at = excluded.cancel_at, canceled_at = excluded.canceled_at,
        ended_at = excluded.ended_at, pause_behavior = excluded.pause_behavior, data = excluded.data;

    if found then
        -- Most changes of a subscription leave its items as they were.
        if v_old.items is null or v_old.items <> v_object -> 'items' or v_object -> 'items' is null then
            perform paidonce.replace_subscription_items(v_id, v_object);
        end if;
    else
        update paidonce.subscriptions as s
        set generation = s.generation + 1, rivals = v_new.rivals
        where s.subscription_id = v_id;
    end if;

    perform paidonce.link_from_metadata(event, event #> '{data,object}', paidonce.read_customer_id(event #> '{data,object}'));
    if event ->> 'type' <> 'snapshot' then
        perform paidonce.request_refetch(event, 'subscription', v_id);
    end if;
end
$$;

comment on function paidonce.project_subscription(jsonb) is
    'Keeps a subscription and its items as last stated by events, and asks for a refetch.';

revoke all on function paidonce.project_subscription(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_subscription(jsonb)', variadic '{}');
