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
declare
    v_lines constant pg_catalog.jsonb := case jsonb_typeof(object #> '{lines,data}') when 'array' then object #> '{lines,data}' else '[]' end;
begin
    -- A list that is not there, or goes on (has_more), does not say what is gone.
    delete from paidonce.invoice_lines as l
    where l.invoice_id = replace_invoice_lines.invoice_id
        and jsonb_typeof(object #> '{lines,data}') = 'array'
        and not coalesce(paidonce.read_flag(object #> '{lines,has_more}'), false)
        and l.line_id not in (select n.line ->> 'id' from jsonb_array_elements(v_lines) as n (line) where n.line ->> 'id' is not null);

    insert into paidonce.invoice_lines as l (
        invoice_id, line_id, price_id, product_id, subscription_id, amount, quantity, proration,
        stated_credits, price_stated, period_start, period_end
    )
    select distinct on (n.line ->> 'id')
        replace_invoice_lines.invoice_id, n.line ->> 'id', paidonce.read_line_price_id(n.line), paidonce.read_line_product_id(n.line),
        paidonce.read_line_subscription_id(n.line), paidonce.read_integer(n.line -> 'amount'), paidonce.read_integer(n.line -> 'quantity'),
        paidonce.read_line_proration(n.line), paidonce.read_credits(paidonce.read_line_price(n.line)),
        paidonce.read_line_price(n.line) is not null,
        paidonce.read_time(n.line #> '{period,start}'), paidonce.read_time(n.line #> '{period,end}')
    from jsonb_array_elements(v_lines) as n (line)
    where n.line ->> 'id' is not null
    order by n.line ->> 'id', n.line::pg_catalog.text
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
