-- Purpose:   keep which invoices a payment paid, as Stripe's list of invoice payments says it: it knows now, even if there are none.
-- Arguments: event, a snapshot of {object: invoice_payment_list, id: the payment, data: [invoice payments]}.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the purchase's rows.
create or replace function paidonce.project_invoice_payment_list(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_payment constant pg_catalog.text := event #>> '{data,object,id}';
begin
    perform paidonce.join_purchase(null, null, r.invoice_id, array[v_payment])
    from jsonb_array_elements(event #> '{data,object,data}') as p (payment)
    cross join lateral paidonce.read_invoice_payment(p.payment) as r
    where r.status is distinct from 'canceled';

    update paidonce.purchase_objects as o set link_known = true where o.object_id = v_payment;
    perform paidonce.settle_purchase(v_payment, event);
end
$$;

comment on function paidonce.project_invoice_payment_list(jsonb) is
    'Keeps which invoices a payment paid, as Stripe lists them.';

revoke all on function paidonce.project_invoice_payment_list(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_invoice_payment_list(jsonb)', variadic '{}');
