-- Purpose:   ask for an outside action (an e-mail, a call) as part of an event's effect. The row commits with
--            the effect or not at all, and a worker sends it afterwards.
-- Arguments: event; action, such as email.welcome; payload, fixed from here on; discriminator, where one
--            event asks for the same action more than once.
-- Returns:   nothing. The key is <event_id>:<action>[:<discriminator>]; a key already there is left as it is.
-- Raises:    22023 when an argument is missing; 23514 when the action or the key is not well formed.
-- Locks:     the new row.
create or replace function paidonce.enqueue(event jsonb, action text, payload jsonb, discriminator text default null)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    if event ->> 'id' is null then
        raise exception 'enqueue needs the event as the effect was given it'
            using errcode = 'invalid_parameter_value';
    end if;
    perform paidonce.enqueue_once(
        concat_ws(':', event ->> 'id', action, discriminator), event, action, payload
    );
end
$$;

comment on function paidonce.enqueue(jsonb, text, jsonb, text) is
    'Asks for an outside action in the transaction of an effect, once per event, action and discriminator.';

revoke all on function paidonce.enqueue(jsonb, text, jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.enqueue(jsonb, text, jsonb, text)', variadic '{}');
