-- Purpose:   fix how many credits the lines of a purchase's paid invoices are worth, once; ask for the price where that cannot be known.
-- Arguments: purchase_id; event, the cause, or null.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the lines. The prices and products that it reads are locked, shared, by paidonce.lock_set.
create or replace function paidonce.fix_line_credits(purchase_id text, event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    update paidonce.invoice_lines as l
    set credits = case when l.proration then 0 else paidonce.credits_of_price(l.price_id, l.product_id, l.price_stated, l.stated_credits) end
    from paidonce.purchase_objects as o
    join paidonce.invoices as n on n.invoice_id = o.object_id and n.status = 'paid'
    where o.purchase_id = fix_line_credits.purchase_id
        and l.invoice_id = n.invoice_id and l.credits is null and l.price_id is not null;

    if event is null or not exists (
        select
        from paidonce.purchase_objects as o
        join paidonce.invoices as n on n.invoice_id = o.object_id and n.status = 'paid'
        join paidonce.invoice_lines as l on l.invoice_id = n.invoice_id
        where o.purchase_id = fix_line_credits.purchase_id and l.credits is null and l.price_id is not null
    ) then
        return;
    end if;
    -- In the order of their keys: events of other purchases may ask for the same ones at this moment.
    perform paidonce.request_refetch(event, w.object_type, w.object_id)
    from (
        select distinct g.object_type, g.object_id
        from paidonce.purchase_objects as o
        join paidonce.invoices as n on n.invoice_id = o.object_id and n.status = 'paid'
        join paidonce.invoice_lines as l on l.invoice_id = n.invoice_id
        left join paidonce.prices as p on p.price_id = l.price_id
        left join paidonce.products as d on d.product_id = coalesce(l.product_id, p.product_id)
        cross join lateral (values
            ('price', case when p.price_id is null then l.price_id end),
            ('product', case when d.product_id is null then coalesce(l.product_id, p.product_id) end)
        ) as g (object_type, object_id)
        where o.purchase_id = fix_line_credits.purchase_id and l.credits is null and l.price_id is not null and g.object_id is not null
        order by g.object_id
    ) as w;
end
$$;

comment on function paidonce.fix_line_credits(text, jsonb) is
    'Fixes how many credits the lines of a purchase''s paid invoices are worth.';

revoke all on function paidonce.fix_line_credits(text, jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.fix_line_credits(text, jsonb)', variadic '{}');
