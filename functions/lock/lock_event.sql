-- Purpose:   take every lock that an event or a snapshot needs, before any effect reads: see paidonce.lock_set.
-- Arguments: event; object, what it is about; customer_id, whom the object names, or null; metadata_key, where its metadata names a user.
-- Returns:   nothing.
-- Raises:    55P03 when a lock is not had within lock_timeout.
-- Locks:     the set of all that the event names.
create or replace function paidonce.lock_event(event jsonb, object jsonb, customer_id text, metadata_key text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_ids   pg_catalog.text[];
    v_goods pg_catalog.text[] := array[]::pg_catalog.text[];
begin
    if object ->> 'object' in ('subscription', 'customer', 'price', 'product', 'plan') then
        v_ids := array[object ->> 'id']; -- nothing that they name is of a purchase that they change
    else
        v_ids := paidonce.read_named_ids(object);
        v_goods := paidonce.read_line_goods(object);
    end if;
    perform paidonce.lock_set(
        v_ids,
        array_remove(array[lock_event.customer_id], null),
        array_remove(array[nullif(object ->> 'client_reference_id', ''), nullif(btrim(object #>> array['metadata', metadata_key]), '')], null),
        v_goods,
        coalesce(event ->> 'account', event ->> 'context'),
        case jsonb_typeof(event -> 'livemode') when 'boolean' then (event -> 'livemode')::boolean end
    );
end
$$;

comment on function paidonce.lock_event(jsonb, jsonb, text, text) is
    'Takes every lock that an event needs, in the one order of locks.';

revoke all on function paidonce.lock_event(jsonb, jsonb, text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.lock_event(jsonb, jsonb, text, text)', variadic '{}');
