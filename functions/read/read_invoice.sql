-- Purpose:   read what an invoice says.
-- Arguments: object, an invoice of any API version. Stripe API 2025-03-31 moved the subscription to parent.subscription_details and the payments
--            to payments.data. Early versions say only that it is paid and what was due.
-- Returns:   its facts; null what it does not say. payment_ids: of payment intents and charges.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_invoice(
    object jsonb,
    out customer_id text, out subscription_id text, out status text, out billing_reason text, out subtotal bigint, out total bigint,
    out amount_due bigint, out amount_paid bigint, out currency text, out period_start timestamptz, out period_end timestamptz,
    out created timestamptz, out payment_ids text[]
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
    subscription_id := case 'string' when jsonb_typeof(object -> 'subscription') then nullif(object ->> 'subscription', '')
        when jsonb_typeof(object #> '{subscription,id}') then nullif(object #>> '{subscription,id}', '') end;
    if subscription_id is null then
        subscription_id := paidonce.read_object_id(object #> '{parent,subscription_details,subscription}');
    end if;
    status := paidonce.read_invoice_status(object);
    billing_reason := object ->> 'billing_reason';
    subtotal := case when jsonb_typeof(object -> 'subtotal') = 'number' and abs((object -> 'subtotal')::numeric) < 9223372036854775808
        then trunc((object -> 'subtotal')::numeric)::bigint end;
    total := case when jsonb_typeof(object -> 'total') = 'number' and abs((object -> 'total')::numeric) < 9223372036854775808
        then trunc((object -> 'total')::numeric)::bigint end;
    amount_due := case when jsonb_typeof(object -> 'amount_due') = 'number' and abs((object -> 'amount_due')::numeric) < 9223372036854775808
        then trunc((object -> 'amount_due')::numeric)::bigint end;
    amount_paid := case when jsonb_typeof(object -> 'amount_paid') = 'number'
            and abs((object -> 'amount_paid')::numeric) < 9223372036854775808
        then trunc((object -> 'amount_paid')::numeric)::bigint end;
    if amount_paid is null and status = 'paid' then
        amount_paid := amount_due;
    end if;
    currency := object ->> 'currency';
    period_start := case when jsonb_typeof(object -> 'period_start') = 'number'
            and (object -> 'period_start')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'period_start')::double precision) end;
    period_end := case when jsonb_typeof(object -> 'period_end') = 'number' and (object -> 'period_end')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'period_end')::double precision) end;
    created := case when jsonb_typeof(object -> 'created') = 'number' and (object -> 'created')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'created')::double precision) end;
    if created is null then -- its name before API 2018-11-08
        created := case when jsonb_typeof(object -> 'date') = 'number' and (object -> 'date')::numeric between 0 and 253402300799
            then to_timestamp((object -> 'date')::double precision) end;
    end if;
    payment_ids := array_remove(array[
        case 'string' when jsonb_typeof(object -> 'charge') then nullif(object ->> 'charge', '')
            when jsonb_typeof(object #> '{charge,id}') then nullif(object #>> '{charge,id}', '') end,
        case 'string' when jsonb_typeof(object -> 'payment_intent') then nullif(object ->> 'payment_intent', '')
            when jsonb_typeof(object #> '{payment_intent,id}') then nullif(object #>> '{payment_intent,id}', '') end
    ], null);
    if jsonb_typeof(object #> '{payments,data}') = 'array' and object #> '{payments,data}' <> '[]' then
        payment_ids := array(
            select unnest(payment_ids)
            union
            select unnest((paidonce.read_invoice_payment(p.payment)).payment_ids)
            from jsonb_array_elements(object #> '{payments,data}') as p (payment)
            order by 1
        );
    end if;
end
$$;

comment on function paidonce.read_invoice(jsonb) is
    'What an invoice of any API version says.';

revoke all on function paidonce.read_invoice(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_invoice(jsonb)', variadic '{}');
