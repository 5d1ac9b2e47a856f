-- Purpose:   settle every purchase of a customer: its user has just become known.
-- Arguments: customer_id; event, the cause, or null.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the ledger.
create or replace function paidonce.settle_customer(customer_id text, event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    perform paidonce.settle_purchase(w.purchase_id, event)
    from (
        select distinct o.purchase_id from paidonce.purchase_objects as o
        where o.customer_id = settle_customer.customer_id
        order by 1
    ) as w;
end
$$;

comment on function paidonce.settle_customer(text, jsonb) is
    'Settles every purchase of a customer.';

revoke all on function paidonce.settle_customer(text, jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.settle_customer(text, jsonb)', variadic '{}');
