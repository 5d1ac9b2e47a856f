-- Purpose:   make the lines of an invoice those of its newest statement. Credits once fixed stay as they are.
-- Arguments: invoice_id; object, the invoice as stated.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the lines.
create or replace function paidonce.replace_invoice_lines(invoice_id text, object jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    -- A list that is not there, or goes on (has_more), does not say what is gone.
    delete from paidonce.invoice_lines as l
    where l.invoice_id = replace_invoice_lines.invoice_id
        and jsonb_typeof(object #> '{lines,data}') = 'array'
        and object #> '{lines,has_more}' is distinct from 'true'
        and l.line_id not in (select n.line_id from paidonce.read_invoice_lines(object) as n);

    insert into paidonce.invoice_lines as l (
        invoice_id, line_id, price_id, product_id, subscription_id, amount, quantity, proration,
        stated_credits, price_stated, period_start, period_end
    )
    select
        replace_invoice_lines.invoice_id, n.line_id, n.price_id, n.product_id, n.subscription_id, n.amount, n.quantity, n.proration,
        n.stated_credits, n.price_stated, n.period_start, n.period_end
    from paidonce.read_invoice_lines(object) as n
    on conflict on constraint invoice_lines_pkey do update
    set price_id = excluded.price_id, product_id = excluded.product_id, subscription_id = excluded.subscription_id,
        amount = excluded.amount, quantity = excluded.quantity, proration = excluded.proration,
        stated_credits = excluded.stated_credits, price_stated = excluded.price_stated,
        period_start = excluded.period_start, period_end = excluded.period_end;
end
$$;

comment on function paidonce.replace_invoice_lines(text, jsonb) is
    'Makes the lines of an invoice those of its newest statement.';

revoke all on function paidonce.replace_invoice_lines(text, jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.replace_invoice_lines(text, jsonb)', variadic '{}');
