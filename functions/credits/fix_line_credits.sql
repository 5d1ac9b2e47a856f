-- Purpose:   fix how many credits the lines of a purchase's paid invoices are worth, once; ask for the price where that cannot be known.
-- Arguments: purchase_id; event, the cause, or null.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the ids of the prices and products it reads, shared, by advisory locks of the transaction; then the lines.
create or replace function paidonce.fix_line_credits(purchase_id text, event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    -- Whatever makes a price or product known has its id locked: either it waits for this, or this sees it in the next statement.
    perform pg_advisory_xact_lock_shared(hashtextextended(w.id, 0))
    from (
        select distinct k.id
        from paidonce.purchase_objects as o
        join paidonce.invoices as n on n.invoice_id = o.object_id and n.status = 'paid'
        join paidonce.invoice_lines as l on l.invoice_id = n.invoice_id
        cross join lateral unnest(array[l.price_id, l.product_id]) as k (id)
        where o.purchase_id = fix_line_credits.purchase_id and l.credits is null and l.price_id is not null and k.id is not null
        order by 1
    ) as w;

    update paidonce.invoice_lines as l
    set credits = case when l.proration then 0 else paidonce.credits_of_price(l.price_id, l.product_id, l.price_stated, l.stated_credits) end
    from paidonce.purchase_objects as o
    join paidonce.invoices as n on n.invoice_id = o.object_id and n.status = 'paid'
    where o.purchase_id = fix_line_credits.purchase_id
        and l.invoice_id = n.invoice_id and l.credits is null and l.price_id is not null;

    perform
        case when p.price_id is null then paidonce.request_refetch(event, 'price', l.price_id) end,
        case when d.product_id is null then paidonce.request_refetch(event, 'product', coalesce(l.product_id, p.product_id)) end
    from paidonce.purchase_objects as o
    join paidonce.invoices as n on n.invoice_id = o.object_id and n.status = 'paid'
    join paidonce.invoice_lines as l on l.invoice_id = n.invoice_id
    left join paidonce.prices as p on p.price_id = l.price_id
    left join paidonce.products as d on d.product_id = coalesce(l.product_id, p.product_id)
    where o.purchase_id = fix_line_credits.purchase_id and event is not null
        and l.credits is null and l.price_id is not null;
end
$$;

comment on function paidonce.fix_line_credits(text, jsonb) is
    'Fixes how many credits the lines of a purchase''s paid invoices are worth.';

revoke all on function paidonce.fix_line_credits(text, jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.fix_line_credits(text, jsonb)', variadic '{}');
