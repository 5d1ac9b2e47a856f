-- Purpose:   keep a payment intent or charge as last stated, note what it belongs to, and grant what a payment intent with credits
--            of its own bought.
-- Arguments: event, any of payment_intent.* and charge.* but refunds and disputes.
-- Returns:   nothing.
-- Raises:    PO404 when it grants credits to a customer that has no user yet (see paidonce.settle_purchase).
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_payment(event jsonb)
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
    v_key  constant pg_catalog.text := (select s.user_id_metadata_key from paidonce.settings as s);
begin
    if v_id is null then
        return;
    end if;
    v_kept := (select o::paidonce.objects from paidonce.payments as o where o.payment_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_payment(v_now.data, v_key);

    insert into paidonce.payments as o (
        payment_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        kind, customer_id, status, amount, amount_paid, amount_refunded, currency, user_id, credits, created
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.kind, v_read.customer_id, v_read.status, v_read.amount, v_read.amount_paid, v_read.amount_refunded, v_read.currency,
        v_read.user_id, v_read.credits, v_read.created
    )
    on conflict (payment_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        kind = excluded.kind, customer_id = excluded.customer_id, status = excluded.status, amount = excluded.amount,
        amount_paid = excluded.amount_paid, amount_refunded = excluded.amount_refunded, currency = excluded.currency,
        user_id = excluded.user_id, credits = excluded.credits, created = excluded.created;

    if v_now.source_event is distinct from event ->> 'id' then
        v_read := paidonce.read_payment(event #> '{data,object}', v_key); -- what it names counts, though its statement does not hold
    end if;
    perform paidonce.join_purchase(v_read.customer_id, null, v_read.invoice_id, v_id || v_read.payment_ids);
    if event #> '{data,object}' ? 'invoice' then -- until API 2025-03-31: if it names none, there is none
        update paidonce.purchase_objects as o set link_known = true where o.object_id = v_id and not o.link_known;
    end if;
    perform paidonce.settle_purchase(v_id, event);
    if v_read.amount_refunded > 0 then
        perform paidonce.request_purchase_link(event, v_id);
    end if;
end
$$;

comment on function paidonce.project_payment(jsonb) is
    'Keeps a payment intent or charge as last stated, and grants what a payment intent with credits of its own bought.';

revoke all on function paidonce.project_payment(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_payment(jsonb)', variadic '{}');
