-- Purpose:   ask a worker to fetch Stripes current state of an object, since an event is only provisional.
-- Arguments: event, the cause (its account is asked); object_type, such as subscription; object_id.
-- Returns:   nothing. At most one request per object is pending; a further one joins it.
-- Raises:    nothing.
-- Locks:     the new row.
create or replace function paidonce.request_refetch(event jsonb, object_type text, object_id text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_key constant pg_catalog.text := concat_ws(':', 'refetch', event ->> 'account', object_id);
begin
    if object_id is null or exists (
        select from paidonce.outbox as o where o.coalesce_key = v_key and o.status = 'pending'
    ) then
        return;
    end if;

    -- No conflict target: a twin may have asked meanwhile, and a forced replay has the same key.
    insert into paidonce.outbox as o (event_id, action, payload, idempotency_key, coalesce_key)
    values (
        event ->> 'id',
        'stripe.refetch',
        jsonb_strip_nulls(jsonb_build_object('object', object_type, 'id', object_id, 'account', event ->> 'account')),
        concat_ws(':', coalesce(event ->> 'id', gen_random_uuid()::pg_catalog.text), 'stripe.refetch', object_id),
        v_key
    )
    on conflict do nothing;
    perform paidonce.notify_outbox();
end
$$;

comment on function paidonce.request_refetch(jsonb, text, text) is
    'Asks a worker to fetch an objects current state from Stripe; at most one request per object is pending.';

revoke all on function paidonce.request_refetch(jsonb, text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.request_refetch(jsonb, text, text)', variadic '{}');
