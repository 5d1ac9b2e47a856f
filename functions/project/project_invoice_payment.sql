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
    v_read constant pg_catalog.record := paidonce.read_invoice_payment(event #> '{data,object}');
begin
    if v_read.invoice_id is null or v_read.status = 'canceled' then
        return;
    end if;
    perform paidonce.join_purchase(null, null, v_read.invoice_id, v_read.payment_ids);
    perform paidonce.settle_purchase(v_read.invoice_id, event);
    if event ->> 'type' <> 'snapshot' and not exists (select from paidonce.invoices as n where n.invoice_id = v_read.invoice_id) then
        perform paidonce.request_refetch(event, 'invoice', v_read.invoice_id);
    end if;
end
$$;

comment on function paidonce.project_invoice_payment(jsonb) is
    'Notes which payment paid an invoice.';

revoke all on function paidonce.project_invoice_payment(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_invoice_payment(jsonb)', variadic '{}');
