-- Purpose:   read how much of an invoice was paid.
-- Arguments: object, an invoice of any API version. Early versions say only that it is paid and what was due.
-- Returns:   the amount in minor units, or null.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_invoice_amount_paid(object jsonb)
returns bigint
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return coalesce(
        paidonce.read_integer(object -> 'amount_paid'),
        case when paidonce.read_invoice_status(object) = 'paid' then paidonce.read_integer(object -> 'amount_due') end
    );
end
$$;

comment on function paidonce.read_invoice_amount_paid(jsonb) is
    'Amount paid of an invoice in minor units; what was due where old API versions only say that it is paid.';

revoke all on function paidonce.read_invoice_amount_paid(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_invoice_amount_paid(jsonb)', variadic '{}');
