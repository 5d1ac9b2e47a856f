-- Purpose:   read what a checkout session says.
-- Arguments: object, a checkout session; user_key, the metadata key that names your user.
-- Returns:   its facts; null what it does not say. user_id is client_reference_id, else the metadata.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_checkout_session(
    object jsonb, user_key text,
    out customer_id text, out user_id text, out mode text, out status text, out payment_status text, out invoice_id text,
    out amount_total bigint, out currency text, out credits bigint, out created timestamptz
)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    customer_id := case 'string' when jsonb_typeof(object -> 'customer') then nullif(object ->> 'customer', '')
        when jsonb_typeof(object #> '{customer,id}') then nullif(object #>> '{customer,id}', '') end;
    user_id := coalesce(nullif(object ->> 'client_reference_id', ''), nullif(btrim(object -> 'metadata' ->> user_key), ''));
    mode := object ->> 'mode';
    status := object ->> 'status';
    payment_status := object ->> 'payment_status';
    invoice_id := case 'string' when jsonb_typeof(object -> 'invoice') then nullif(object ->> 'invoice', '')
        when jsonb_typeof(object #> '{invoice,id}') then nullif(object #>> '{invoice,id}', '') end;
    amount_total := case when jsonb_typeof(object -> 'amount_total') = 'number'
            and abs((object -> 'amount_total')::numeric) < 9223372036854775808
        then trunc((object -> 'amount_total')::numeric)::bigint end;
    currency := object ->> 'currency';
    credits := case when btrim(object #>> '{metadata,credits}') ~ '^[0-9]{1,12}$' then btrim(object #>> '{metadata,credits}')::bigint end;
    created := case when jsonb_typeof(object -> 'created') = 'number' and (object -> 'created')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'created')::double precision) end;
end
$$;

comment on function paidonce.read_checkout_session(jsonb, text) is
    'What a checkout session says.';

revoke all on function paidonce.read_checkout_session(jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.read_checkout_session(jsonb, text)', variadic '{}');
