-- Purpose:   read what a subscription says.
-- Arguments: object, a subscription of any API version. Stripe API 2025-03-31 moved the period to the items. With flexible billing
--            (API 2025-06-30) the portal sets cancel_at and leaves the flag false. Pausing collection leaves the status as it was.
-- Returns:   its facts; null what it does not say. Of periods: its own before API 2025-03-31, that of the item which ends first since then.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_subscription(
    object jsonb,
    out customer_id text, out status text, out created timestamptz, out current_period_start timestamptz,
    out current_period_end timestamptz, out trial_end timestamptz, out cancel_at timestamptz, out canceled_at timestamptz,
    out ended_at timestamptz, out pause_behavior text
)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    customer_id := case 'string' when jsonb_typeof(object -> 'customer') then nullif(object ->> 'customer', '')
        when jsonb_typeof(object #> '{customer,id}') then nullif(object #>> '{customer,id}', '') end;
    status := coalesce(object ->> 'status', 'unknown');
    created := case when jsonb_typeof(object -> 'created') = 'number' and (object -> 'created')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'created')::double precision) end;
    if jsonb_typeof(object -> 'current_period_end') = 'number' then
        current_period_start := case when jsonb_typeof(object -> 'current_period_start') = 'number'
                and (object -> 'current_period_start')::numeric between 0 and 253402300799
            then to_timestamp((object -> 'current_period_start')::double precision) end;
        current_period_end := case when jsonb_typeof(object -> 'current_period_end') = 'number'
                and (object -> 'current_period_end')::numeric between 0 and 253402300799
            then to_timestamp((object -> 'current_period_end')::double precision) end;
    else
        -- Items may have periods of their own; the one that ends first is the next moment anything happens.
        select
            case when jsonb_typeof(i.item -> 'current_period_start') = 'number'
                and (i.item -> 'current_period_start')::numeric between 0
                and 253402300799
                then to_timestamp((i.item -> 'current_period_start')::double precision) end,
            case when jsonb_typeof(i.item -> 'current_period_end') = 'number'
                and (i.item -> 'current_period_end')::numeric between 0
                and 253402300799
                then to_timestamp((i.item -> 'current_period_end')::double precision) end
        into current_period_start, current_period_end
        from jsonb_array_elements(
            case jsonb_typeof(object #> '{items,data}') when 'array' then object #> '{items,data}' else '[]' end
        ) as i (item)
        where jsonb_typeof(i.item -> 'current_period_end') = 'number'
        order by 2, 1
        limit 1;
    end if;
    trial_end := case when jsonb_typeof(object -> 'trial_end') = 'number' and (object -> 'trial_end')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'trial_end')::double precision) end;
    cancel_at := case when jsonb_typeof(object -> 'cancel_at') = 'number' and (object -> 'cancel_at')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'cancel_at')::double precision) end;
    if cancel_at is null and object -> 'cancel_at_period_end' = 'true' then
        cancel_at := current_period_end;
    end if;
    canceled_at := case when jsonb_typeof(object -> 'canceled_at') = 'number'
            and (object -> 'canceled_at')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'canceled_at')::double precision) end;
    ended_at := case when jsonb_typeof(object -> 'ended_at') = 'number' and (object -> 'ended_at')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'ended_at')::double precision) end;
    pause_behavior := object #>> '{pause_collection,behavior}';
end
$$;

comment on function paidonce.read_subscription(jsonb) is
    'What a subscription of any API version says.';

revoke all on function paidonce.read_subscription(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_subscription(jsonb)', variadic '{}');
