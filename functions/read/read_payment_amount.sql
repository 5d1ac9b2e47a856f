-- Purpose:   read how much a payment brought in.
-- Arguments: object, a payment intent or charge of any API version.
-- Returns:   amount received or captured in minor units; of a charge before 2020-08-27 its amount, once captured; null when nothing says it.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_payment_amount(object jsonb)
returns bigint
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return coalesce(
        paidonce.read_integer(object -> 'amount_received'),
        paidonce.read_integer(object -> 'amount_captured'),
        case when paidonce.read_flag(object -> 'captured') then paidonce.read_integer(object -> 'amount') end
    );
end
$$;

comment on function paidonce.read_payment_amount(jsonb) is
    'Amount that a payment intent or charge brought in, in minor units.';

revoke all on function paidonce.read_payment_amount(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_payment_amount(jsonb)', variadic '{}');
