-- Purpose:   keep a refund as last stated, and take back from its purchase what that now implies. A refund that comes before its
--            payment is remembered and netted when the payment arrives.
-- Arguments: event, any of charge.refund.* and refund.*.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_refund(event jsonb)
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
    v_kept := (select o::paidonce.objects from paidonce.refunds as o where o.refund_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_refund(v_now.data);

    insert into paidonce.refunds as o (
        refund_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        charge_id, payment_intent_id, amount, currency, status, created
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.charge_id, v_read.payment_intent_id, v_read.amount, v_read.currency, v_read.status, v_read.created
    )
    on conflict (refund_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        charge_id = excluded.charge_id, payment_intent_id = excluded.payment_intent_id, amount = excluded.amount,
        currency = excluded.currency, status = excluded.status, created = excluded.created;

    if v_now.source_event is distinct from event ->> 'id' then
        v_read := paidonce.read_refund(event #> '{data,object}'); -- what it names counts, though its statement does not hold
    end if;
    perform paidonce.join_purchase(null, null, null, v_read.payment_ids);
    perform paidonce.settle_purchase(v_read.payment_ids[1], event);
    if event ->> 'type' <> 'snapshot' and v_read.status in ('failed', 'canceled') then
        -- Its charge may have been stated within the same second, before or after that.
        perform paidonce.request_refetch(event, 'charge', v_read.charge_id);
    end if;
    perform paidonce.request_purchase_link(event, v_read.payment_ids[1]);
end
$$;

comment on function paidonce.project_refund(jsonb) is
    'Keeps a refund as last stated, and takes back what that now implies.';

revoke all on function paidonce.project_refund(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_refund(jsonb)', variadic '{}');
