-- Purpose:   grant what waited for a price: settle every purchase with a paid line of it that is not fixed yet.
-- Arguments: event, the cause, or null; price_id.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the customers of those purchases, in order.
create or replace function paidonce.resolve_lines(event jsonb, price_id text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    perform paidonce.settle_purchase(w.invoice_id, event)
    from (
        select n.invoice_id
        from paidonce.invoice_lines as l
        join paidonce.invoices as n on n.invoice_id = l.invoice_id
        where l.price_id = resolve_lines.price_id and l.credits is null and n.status = 'paid'
        group by n.invoice_id, n.customer_id
        order by n.customer_id, n.invoice_id
    ) as w;
end
$$;

comment on function paidonce.resolve_lines(jsonb, text) is
    'Grants what waited for a price to become known.';

revoke all on function paidonce.resolve_lines(jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.resolve_lines(jsonb, text)', variadic '{}');
