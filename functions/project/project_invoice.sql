-- Purpose:   keep an invoice and its lines as last stated, note how it was paid, and grant what a paid one bought.
-- Arguments: event, any of invoice.* but invoice.upcoming.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row.
create or replace function paidonce.project_invoice(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id     constant pg_catalog.text := paidonce.read_object_id(event #> '{data,object}');
    v_object pg_catalog.jsonb;
    v_old    pg_catalog.record;
    v_new    pg_catalog.record;
begin
    if v_id is null then
        return;
    end if;
    select o.as_of, o.as_of_rank, o.is_final, o.source_event, o.rivals into v_old
    from paidonce.invoices as o where o.invoice_id = v_id for update;
    v_new := paidonce.newest(event, v_old.as_of, v_old.as_of_rank, v_old.is_final, v_old.source_event, v_old.rivals);
    v_object := v_new.winner #> '{data,object}';

    insert into paidonce.invoices as o (
        invoice_id, account, livemode, as_of, as_of_rank, is_final, source_event, rivals,
        customer_id, subscription_id, status, billing_reason, subtotal, total, amount_due, amount_paid, currency, period_start, period_end, created, data
    )
    select
        v_id, event ->> 'account', paidonce.read_flag(event -> 'livemode'), paidonce.read_time(v_new.winner -> 'created'),
        v_new.as_of_rank, v_new.is_final, v_new.winner ->> 'id', v_new.rivals,
        paidonce.read_customer_id(v_object),
        paidonce.read_invoice_subscription_id(v_object),
        paidonce.read_invoice_status(v_object),
        v_object ->> 'billing_reason',
        paidonce.read_integer(v_object -> 'subtotal'),
        paidonce.read_integer(v_object -> 'total'),
        paidonce.read_integer(v_object -> 'amount_due'),
        paidonce.read_invoice_amount_paid(v_object),
        v_object ->> 'currency',
        paidonce.read_time(v_object -> 'period_start'),
        paidonce.read_time(v_object -> 'period_end'),
        coalesce(paidonce.read_time(v_object -> 'created'), paidonce.read_time(v_object -> 'date')),
        v_object
    where v_new.winner is not null
    on conflict (invoice_id) do update
    set as_of = excluded.as_of, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        source_event = excluded.source_event, rivals = excluded.rivals, generation = o.generation + 1,
        customer_id = excluded.customer_id,
        subscription_id = excluded.subscription_id,
        status = excluded.status,
        billing_reason = excluded.billing_reason,
        subtotal = excluded.subtotal,
        total = excluded.total,
        amount_due = excluded.amount_due,
        amount_paid = excluded.amount_paid,
        currency = excluded.currency,
        period_start = excluded.period_start,
        period_end = excluded.period_end,
        created = excluded.created,
        data = excluded.data;

    if not found then
        update paidonce.invoices as o set generation = o.generation + 1, rivals = v_new.rivals where o.invoice_id = v_id;
    else
        perform paidonce.replace_invoice_lines(v_id, v_object);
    end if;

    if v_new.undecided then
        perform paidonce.request_refetch(event, 'invoice', v_id);
    end if;

    v_object := event #> '{data,object}';
    if event ->> 'type' <> 'snapshot' and paidonce.read_flag(v_object #> '{lines,has_more}') then
        perform paidonce.request_refetch(event, 'invoice', v_id);
    end if;
    perform paidonce.join_purchase(paidonce.read_customer_id(v_object), null, v_id, paidonce.read_invoice_payment_ids(v_object));
    perform paidonce.settle_purchase(v_id, event);
end
$$;

comment on function paidonce.project_invoice(jsonb) is
    'Keeps an invoice and its lines as last stated, and grants what a paid one bought.';

revoke all on function paidonce.project_invoice(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_invoice(jsonb)', variadic '{}');
