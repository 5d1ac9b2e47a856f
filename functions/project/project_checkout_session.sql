-- Purpose:   keep a checkout session as last stated, link its customer to the user who checked out (client_reference_id, else
--            metadata), and grant what a paid session without an invoice bought.
-- Arguments: event, any of checkout.session.*.
-- Returns:   nothing.
-- Raises:    PO404 when it grants credits to a customer that has no user yet (see paidonce.settle_purchase).
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_checkout_session(event jsonb)
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
    v_kept := (select o::paidonce.objects from paidonce.checkout_sessions as o where o.session_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_checkout_session(v_now.data, v_key);

    insert into paidonce.checkout_sessions as o (
        session_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        customer_id, user_id, mode, status, payment_status, invoice_id, amount_total, currency, credits, created
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.customer_id, v_read.user_id, v_read.mode, v_read.status, v_read.payment_status, v_read.invoice_id,
        v_read.amount_total, v_read.currency, v_read.credits, v_read.created
    )
    on conflict (session_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        customer_id = excluded.customer_id, user_id = excluded.user_id, mode = excluded.mode, status = excluded.status,
        payment_status = excluded.payment_status, invoice_id = excluded.invoice_id, amount_total = excluded.amount_total,
        currency = excluded.currency, credits = excluded.credits, created = excluded.created;

    if v_now.source_event is distinct from event ->> 'id' then
        v_read := paidonce.read_checkout_session(event #> '{data,object}', v_key); -- what it names counts, though its statement does not hold
    end if;
    -- Joined first: the link may run parked events of this purchase.
    perform paidonce.join_purchase(v_read.customer_id, v_id, v_read.invoice_id, paidonce.read_payment_ids(event #> '{data,object}'));
    perform paidonce.link(v_read.customer_id, v_read.user_id, event ->> 'id');
    perform paidonce.settle_purchase(v_id, event);
end
$$;

comment on function paidonce.project_checkout_session(jsonb) is
    'Keeps a checkout session as last stated, links its customer to the user who checked out, and grants what it bought.';

revoke all on function paidonce.project_checkout_session(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_checkout_session(jsonb)', variadic '{}');
