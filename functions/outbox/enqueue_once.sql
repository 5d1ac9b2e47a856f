-- Purpose:   like paidonce.enqueue, under a business key of your own: for one action that several events of
--            one fact would each ask for, such as receipt:in_123.
-- Arguments: idempotency_key, at most 255 characters; event, the cause, or null; action; payload.
-- Returns:   nothing. A key already there is left as it is.
-- Raises:    22023 when an argument is missing; 23514 when the action or the key is not well formed.
-- Locks:     the new row.
create or replace function paidonce.enqueue_once(idempotency_key text, event jsonb, action text, payload jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    if idempotency_key is null or action is null or payload is null then
        raise exception 'an outbox row needs a key, an action and a payload; got key %, action %, payload %',
            coalesce(idempotency_key, 'null'), coalesce(action, 'null'), case when payload is null then 'null' else 'given' end
            using errcode = 'invalid_parameter_value';
    end if;
    insert into paidonce.outbox as o (event_id, action, payload, idempotency_key)
    values (event ->> 'id', enqueue_once.action, enqueue_once.payload, enqueue_once.idempotency_key)
    on conflict on constraint outbox_one_row_per_key do nothing;
    if found then
        perform paidonce.notify_outbox();
    end if;
end
$$;

comment on function paidonce.enqueue_once(text, jsonb, text, jsonb) is
    'Asks for an outside action in the transaction of an effect, once per business key.';

revoke all on function paidonce.enqueue_once(text, jsonb, text, jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.enqueue_once(text, jsonb, text, jsonb)', variadic '{}');
