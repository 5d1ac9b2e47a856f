-- Purpose:   give a row another life: pending again, with fresh attempts, at once, under the same key and with the same payload.
-- Arguments: id; force, to send again what was sent already.
-- Returns:   true when it is pending now.
-- Raises:    P0002 when there is no such row; 55000 when it was sent and force is not given, or a worker has it at this moment.
-- Locks:     the row.
create or replace function paidonce.requeue_outbox(id bigint, force boolean default false)
returns boolean
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_row pg_catalog.record;
begin
    select o.status, o.lease_until into v_row from paidonce.outbox as o where o.id = requeue_outbox.id for update;
    if not found then
        raise exception 'there is no outbox row %', id using errcode = 'no_data_found';
    end if;
    if v_row.status = 'sent' and not coalesce(force, false) then
        raise exception 'outbox row % was sent', id
            using errcode = 'object_not_in_prerequisite_state', hint = 'Force it to send it once more, under the same key.';
    end if;
    if v_row.lease_until > clock_timestamp() then
        raise exception 'a worker has outbox row % until %', id, v_row.lease_until using errcode = 'object_not_in_prerequisite_state';
    end if;

    update paidonce.outbox as o
    set status = 'pending', sent_at = null, attempts = 0, first_attempt_at = null, lease_until = null,
        next_attempt_at = clock_timestamp(), error = null
    where o.id = requeue_outbox.id;
    perform paidonce.notify_outbox();
    return true;
exception
    when unique_violation then
        return false; -- the same refetch is pending already
end
$$;

comment on function paidonce.requeue_outbox(bigint, boolean) is
    'Makes an outbox row pending again, with fresh attempts under the same key. A sent one only by force.';

revoke all on function paidonce.requeue_outbox(bigint, boolean) from public;
call paidonce.only_grant('execute', 'function paidonce.requeue_outbox(bigint, boolean)', variadic '{}');
