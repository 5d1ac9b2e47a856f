-- Purpose:   keep an invoice and its lines as last stated, note how it was paid, and grant what a paid one bought.
-- Arguments: event, any of invoice.* but invoice.upcoming.
-- Returns:   nothing.
-- Raises:    PO404 when it grants credits to a customer that has no user yet (see paidonce.settle_purchase).
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_invoice(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id   constant pg_catalog.text := paidonce.read_object_id(event #> '{data,object}');
    v_kept paidonce.objects;
    v_now  paidonce.objects;
    v_read pg_catalog.record;
begin
    if v_id is null then
        return;
    end if;
    v_kept := (select o::paidonce.objects from paidonce.invoices as o where o.invoice_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_invoice(v_now.data);

    insert into paidonce.invoices as o (
        invoice_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        customer_id, subscription_id, status, billing_reason, subtotal, total, amount_due, amount_paid, currency, period_start,
        period_end, created
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.customer_id, v_read.subscription_id, v_read.status, v_read.billing_reason, v_read.subtotal, v_read.total,
        v_read.amount_due, v_read.amount_paid, v_read.currency, v_read.period_start, v_read.period_end, v_read.created
    )
    on conflict (invoice_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        customer_id = excluded.customer_id, subscription_id = excluded.subscription_id, status = excluded.status,
        billing_reason = excluded.billing_reason, subtotal = excluded.subtotal, total = excluded.total,
        amount_due = excluded.amount_due, amount_paid = excluded.amount_paid, currency = excluded.currency,
        period_start = excluded.period_start, period_end = excluded.period_end, created = excluded.created;

    if v_kept.data -> 'lines' is distinct from v_now.data -> 'lines' then
        perform paidonce.replace_invoice_lines(v_id, v_now.data);
    end if;
    if event ->> 'type' <> 'snapshot' and event #> '{data,object,lines,has_more}' = 'true' then
        perform paidonce.request_refetch(event, 'invoice', v_id);
    end if;

    if v_now.source_event is distinct from event ->> 'id' then
        v_read := paidonce.read_invoice(event #> '{data,object}'); -- what it names counts, though its statement does not hold
    end if;
    perform paidonce.join_purchase(v_read.customer_id, null, v_id, v_read.payment_ids);
    perform paidonce.settle_purchase(v_id, event);
end
$$;

comment on function paidonce.project_invoice(jsonb) is
    'Keeps an invoice and its lines as last stated, and grants what a paid one bought.';

revoke all on function paidonce.project_invoice(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_invoice(jsonb)', variadic '{}');
