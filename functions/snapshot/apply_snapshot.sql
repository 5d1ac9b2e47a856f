-- Purpose:   apply Stripe's current state of an object, as fetched. It has the last word over events, unless one arrived while it was being
--            fetched: then it is asked for again.
-- Arguments: object, as Stripe's API answered ({id, object, deleted: true} where it is gone); a key "paidonce": {"account"} may name its connected
--            account. observed_at, the Date header of that answer: Stripe's clock, like created. generation, as paidonce.generation_of gave it
--            before the request.
-- Returns:   applied; moved, when an event arrived meanwhile and the object was asked for again; older, when a later answer was applied already.
-- Raises:    22023 when the object has no id, no type or one that is not kept; else as handle_stripe_event.
-- Locks:     as an event about the object.
create or replace function paidonce.apply_snapshot(object jsonb, observed_at timestamptz, generation bigint)
returns text
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_type    constant pg_catalog.text := object ->> 'object';
    v_id      constant pg_catalog.text := coalesce(paidonce.read_object_id(object), paidonce.read_customer_id(object));
    v_object  pg_catalog.jsonb := case jsonb_typeof(object) when 'object' then object - 'paidonce' end;
    v_account pg_catalog.text := object #>> '{paidonce,account}';
    v_kept    pg_catalog.record;
    v_event   pg_catalog.jsonb;
begin
    perform paidonce.require_read_committed();
    if v_id is null or observed_at is null or not isfinite(observed_at) or paidonce.projection_of(null, v_type) is null then
        raise exception 'apply_snapshot needs an object with an id, of a type that is kept, and the time of the answer; got %',
            coalesce(v_type, 'no object') using errcode = 'invalid_parameter_value';
    end if;

    v_event := jsonb_build_object('type', 'snapshot', 'created', extract(epoch from observed_at), 'data', jsonb_build_object('object', v_object));
    perform paidonce.lock_event(v_event, v_object, paidonce.read_customer_id(v_object), (select s.user_id_metadata_key from paidonce.settings as s));
    select s.* into v_kept from paidonce.stated(v_type, v_id) as s;
    v_account := coalesce(v_account, v_kept.account);

    if coalesce(v_kept.generation, 0) <> coalesce(apply_snapshot.generation, 0) then
        perform paidonce.request_refetch(jsonb_build_object('account', v_account), v_type, v_id);
        return 'moved';
    end if;
    if v_kept.as_of > observed_at then
        return 'older';
    end if;

    if paidonce.read_flag(v_object -> 'deleted') then
        v_object := coalesce(v_kept.data, '{}') || case v_type
            when 'subscription' then jsonb_build_object('status', 'canceled', 'ended_at', extract(epoch from observed_at)::bigint)
            when 'invoice' then jsonb_build_object('status', 'void')
            else '{}'
        end || v_object;
    end if;
    perform paidonce.project_event(jsonb_strip_nulls(jsonb_build_object('account', v_account, 'livemode', v_object -> 'livemode'))
        || jsonb_set(v_event, '{data,object}', v_object));
    return 'applied';
end
$$;

comment on function paidonce.apply_snapshot(jsonb, timestamptz, bigint) is
    'Applies Stripe''s current state of an object: the last word over events, unless one arrived meanwhile. Returns applied, moved or older.';

revoke all on function paidonce.apply_snapshot(jsonb, timestamptz, bigint) from public;
call paidonce.only_grant('execute', 'function paidonce.apply_snapshot(jsonb, timestamptz, bigint)', 'paidonce_worker');
