-- Purpose:   read what a dispute says.
-- Arguments: object, a dispute of any API version.
-- Returns:   its facts; null what it does not say. payment_ids: charge_id and payment_intent_id, as far as they are named.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_dispute(
    object jsonb,
    out charge_id text, out payment_intent_id text, out amount bigint, out currency text, out status text, out created timestamptz,
    out reason text, out payment_ids text[]
)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    charge_id := case 'string' when jsonb_typeof(object -> 'charge') then nullif(object ->> 'charge', '')
        when jsonb_typeof(object #> '{charge,id}') then nullif(object #>> '{charge,id}', '') end;
    payment_intent_id := case 'string' when jsonb_typeof(object -> 'payment_intent') then nullif(object ->> 'payment_intent', '')
        when jsonb_typeof(object #> '{payment_intent,id}') then nullif(object #>> '{payment_intent,id}', '') end;
    amount := case when jsonb_typeof(object -> 'amount') = 'number' and abs((object -> 'amount')::numeric) < 9223372036854775808
        then trunc((object -> 'amount')::numeric)::bigint end;
    currency := object ->> 'currency';
    status := object ->> 'status';
    created := case when jsonb_typeof(object -> 'created') = 'number' and (object -> 'created')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'created')::double precision) end;
    reason := object ->> 'reason';
    payment_ids := array_remove(array[charge_id, payment_intent_id], null);
end
$$;

comment on function paidonce.read_dispute(jsonb) is
    'What a dispute says.';

revoke all on function paidonce.read_dispute(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_dispute(jsonb)', variadic '{}');
