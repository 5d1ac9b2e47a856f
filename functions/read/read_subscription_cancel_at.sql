-- Purpose:   read when a subscription is going to end.
-- Arguments: object, a subscription of any API version. With flexible billing (API 2025-06-30) the portal sets cancel_at and leaves the flag false.
-- Returns:   the scheduled end (UTC), or null.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_subscription_cancel_at(object jsonb)
returns timestamptz
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return coalesce(
        paidonce.read_time(object -> 'cancel_at'),
        case when paidonce.read_flag(object -> 'cancel_at_period_end') then
            (select p.period_end from paidonce.read_subscription_period(object) as p)
        end
    );
end
$$;

comment on function paidonce.read_subscription_cancel_at(jsonb) is
    'Scheduled end of a subscription, from cancel_at or cancel_at_period_end; null when none is scheduled.';

revoke all on function paidonce.read_subscription_cancel_at(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_subscription_cancel_at(jsonb)', variadic '{}');
