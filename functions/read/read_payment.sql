-- Purpose:   read what a payment says.
-- Arguments: object, a payment intent or charge of any API version; user_key, the metadata key that names your user. Since API 2025-03-31 it no
--            longer names its invoice. A charge before 2020-08-27 brought in its amount, once captured.
-- Returns:   its facts; null what it does not say. payment_ids: see paidonce.read_payment_ids.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_payment(
    object jsonb, user_key text,
    out kind text, out customer_id text, out invoice_id text, out status text, out amount bigint, out amount_paid bigint,
    out amount_refunded bigint, out currency text, out user_id text, out credits bigint, out created timestamptz,
    out payment_ids text[]
)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    kind := case object ->> 'object' when 'charge' then 'charge' else 'payment_intent' end;
    customer_id := case 'string' when jsonb_typeof(object -> 'customer') then nullif(object ->> 'customer', '')
        when jsonb_typeof(object #> '{customer,id}') then nullif(object #>> '{customer,id}', '') end;
    invoice_id := case 'string' when jsonb_typeof(object -> 'invoice') then nullif(object ->> 'invoice', '')
        when jsonb_typeof(object #> '{invoice,id}') then nullif(object #>> '{invoice,id}', '') end;
    status := object ->> 'status';
    amount := case when jsonb_typeof(object -> 'amount') = 'number' and abs((object -> 'amount')::numeric) < 9223372036854775808
        then trunc((object -> 'amount')::numeric)::bigint end;
    amount_paid := case when jsonb_typeof(object -> 'amount_received') = 'number'
            and abs((object -> 'amount_received')::numeric) < 9223372036854775808
        then trunc((object -> 'amount_received')::numeric)::bigint end;
    if amount_paid is null then
        amount_paid := case when jsonb_typeof(object -> 'amount_captured') = 'number'
                and abs((object -> 'amount_captured')::numeric) < 9223372036854775808
            then trunc((object -> 'amount_captured')::numeric)::bigint end;
    end if;
    if amount_paid is null and object -> 'captured' = 'true' then
        amount_paid := amount;
    end if;
    amount_refunded := case when jsonb_typeof(object -> 'amount_refunded') = 'number'
            and abs((object -> 'amount_refunded')::numeric) < 9223372036854775808
        then trunc((object -> 'amount_refunded')::numeric)::bigint end;
    currency := object ->> 'currency';
    user_id := nullif(btrim(object -> 'metadata' ->> user_key), '');
    credits := case when btrim(object #>> '{metadata,credits}') ~ '^[0-9]{1,12}$' then btrim(object #>> '{metadata,credits}')::bigint end;
    created := case when jsonb_typeof(object -> 'created') = 'number' and (object -> 'created')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'created')::double precision) end;
    payment_ids := paidonce.read_payment_ids(object);
end
$$;

comment on function paidonce.read_payment(jsonb, text) is
    'What a payment intent or charge of any API version says.';

revoke all on function paidonce.read_payment(jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.read_payment(jsonb, text)', variadic '{}');
