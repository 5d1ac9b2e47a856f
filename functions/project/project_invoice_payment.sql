-- Purpose:   note which payment paid an invoice: since API 2025-03-31 only the invoice payment says it.
-- Arguments: event, any of invoice_payment.*.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the purchase's rows.
create or replace function paidonce.project_invoice_payment(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_object  constant pg_catalog.jsonb := event #> '{data,object}';
    v_invoice constant pg_catalog.text := paidonce.read_object_id(v_object -> 'invoice');
begin
    if v_invoice is null or v_object ->> 'status' = 'canceled' then
        return;
    end if;
    perform paidonce.join_purchase(null, null, v_invoice, paidonce.read_invoice_payment_link(v_object));
    perform paidonce.settle_purchase(v_invoice, event);
    if event ->> 'type' <> 'snapshot' and not exists (select from paidonce.invoices as n where n.invoice_id = v_invoice) then
        perform paidonce.request_refetch(event, 'invoice', v_invoice);
    end if;
end
$$;

comment on function paidonce.project_invoice_payment(jsonb) is
    'Notes which payment paid an invoice.';

revoke all on function paidonce.project_invoice_payment(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_invoice_payment(jsonb)', variadic '{}');
