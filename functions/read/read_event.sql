-- Purpose:   check that a value is a Stripe event and read what the claim needs of it.
-- Arguments: event, a snapshot event, or a thin one, which only names its object.
-- Returns:   its id, type, object (of a thin event {id, object: its type}), that object's id, its customer, the connected account
--            (null for the platform's own), livemode, api_version and created.
-- Raises:    PO400 when id, type or data.object (of a thin event: nothing more) is missing or not of its kind.
-- Locks:     nothing.
create or replace function paidonce.read_event(event jsonb, out id text, out type text, out object jsonb, out object_id text,
    out customer_id text, out account text, out livemode boolean, out api_version text, out created timestamptz)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
declare
    v_thin constant boolean := event ->> 'object' = 'v2.core.event';
begin
    object := case when v_thin then jsonb_build_object('id', event #> '{related_object,id}', 'object', event #> '{related_object,type}')
        else event #> '{data,object}' end;
    id := event ->> 'id';
    type := event ->> 'type';
    if jsonb_typeof(event) is distinct from 'object'
        or jsonb_typeof(event -> 'id') is distinct from 'string' or length(id) not between 1 and 255
        or jsonb_typeof(event -> 'type') is distinct from 'string' or length(type) not between 1 and 255
        or jsonb_typeof(object) is distinct from 'object' then
        raise exception 'not a Stripe event: it needs an id, a type and a data.object' using errcode = 'PO400';
    end if;
    if jsonb_typeof(object -> 'id') = 'string' then
        object_id := nullif(object ->> 'id', '');
    end if;
    customer_id := case
        when object ->> 'object' = 'customer' then object_id
        when jsonb_typeof(object -> 'customer') = 'string' then nullif(object ->> 'customer', '')
        else paidonce.read_object_id(object -> 'customer')
    end;
    account := coalesce(event ->> 'account', event ->> 'context');
    if jsonb_typeof(event -> 'livemode') = 'boolean' then
        livemode := (event -> 'livemode')::boolean;
    end if;
    api_version := event ->> 'api_version';
    created := paidonce.read_time(event -> 'created');
end
$$;

comment on function paidonce.read_event(jsonb) is
    'What the claim needs of an event; raises PO400 where the value is not one.';

revoke all on function paidonce.read_event(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_event(jsonb)', variadic '{}');
