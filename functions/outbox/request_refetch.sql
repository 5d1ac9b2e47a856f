-- Purpose:   ask a worker to fetch Stripe's current state of an object, since an event is only provisional.
-- Arguments: event, the cause (its account is asked); object_type, such as subscription; object_id.
-- Returns:   nothing. At most one request per object is pending; a further one joins it. One that a worker has already may
--            have been answered before the cause came, so the worker loses it and it is due again.
-- Raises:    nothing.
-- Locks:     the new row, or the one taken away from a worker. Where one event asks for several that others may ask for, it does so in the order
--            of their ids.
create or replace function paidonce.request_refetch(event jsonb, object_type text, object_id text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    -- The two kinds of lists have another object's id: they are not to be taken for that object.
    v_name   constant pg_catalog.text := concat_ws(
        ':', case when object_type in ('entitlements.active_entitlement_summary', 'invoice_payment_list') then object_type end, object_id
    );
    v_key    constant pg_catalog.text := concat_ws(':', 'refetch', event ->> 'account', v_name);
    v_leased boolean;
begin
    if object_id is null then
        return;
    end if;
    select o.lease_until is not null into v_leased from paidonce.outbox as o where o.coalesce_key = v_key and o.status = 'pending';
    if v_leased then
        update paidonce.outbox as o
        set lease_until = null, lease_token = o.lease_token + 1, next_attempt_at = clock_timestamp(), attempts = o.attempts - 1
        where o.coalesce_key = v_key and o.status = 'pending' and o.lease_until is not null;
        if found then
            return;
        end if;
    elsif not v_leased then
        -- Who takes the request up after this reads the object's generation first, and its answer waits for the locks of this event: either it
        -- was asked after the event, or paidonce.apply_snapshot finds that the generation moved and asks again.
        return;
    end if;
    -- No conflict target: a twin may have asked meanwhile, and a forced replay has the same key.
    insert into paidonce.outbox as o (event_id, action, payload, idempotency_key, coalesce_key)
    values (
        event ->> 'id',
        'stripe.refetch',
        jsonb_strip_nulls(jsonb_build_object('object', object_type, 'id', object_id, 'account', event ->> 'account')),
        concat_ws(':', coalesce(event ->> 'id', gen_random_uuid()::pg_catalog.text), 'stripe.refetch',
            case when length(v_name) > 100 then md5(v_name) else v_name end),
        v_key
    )
    on conflict do nothing;
    perform paidonce.notify_outbox();
end
$$;

comment on function paidonce.request_refetch(jsonb, text, text) is
    'Asks a worker to fetch an object''s current state from Stripe; at most one request per object is pending.';

revoke all on function paidonce.request_refetch(jsonb, text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.request_refetch(jsonb, text, text)', variadic '{}');
