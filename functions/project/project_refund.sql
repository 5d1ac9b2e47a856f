-- Purpose:   keep a refund as last stated, and take back from its purchase what that now implies. A refund that comes before its
--            payment is remembered and netted when the payment arrives.
-- Arguments: event, any of charge.refund.* and refund.*.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row.
create or replace function paidonce.project_refund(event jsonb)
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
    from paidonce.refunds as o where o.refund_id = v_id for update;
    v_new := paidonce.newest(event, v_old.as_of, v_old.as_of_rank, v_old.is_final, v_old.source_event, v_old.rivals);
    v_object := v_new.winner #> '{data,object}';

    insert into paidonce.refunds as o (
        refund_id, account, livemode, as_of, as_of_rank, is_final, source_event, rivals,
        charge_id, payment_intent_id, amount, currency, status, created, data
    )
    select
        v_id, event ->> 'account', paidonce.read_flag(event -> 'livemode'), paidonce.read_time(v_new.winner -> 'created'),
        v_new.as_of_rank, v_new.is_final, v_new.winner ->> 'id', v_new.rivals,
        paidonce.read_object_id(v_object -> 'charge'),
        paidonce.read_object_id(v_object -> 'payment_intent'),
        paidonce.read_integer(v_object -> 'amount'),
        v_object ->> 'currency',
        v_object ->> 'status',
        paidonce.read_time(v_object -> 'created'),
        v_object
    where v_new.winner is not null
    on conflict (refund_id) do update
    set as_of = excluded.as_of, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        source_event = excluded.source_event, rivals = excluded.rivals, generation = o.generation + 1,
        charge_id = excluded.charge_id,
        payment_intent_id = excluded.payment_intent_id,
        amount = excluded.amount,
        currency = excluded.currency,
        status = excluded.status,
        created = excluded.created,
        data = excluded.data;

    if not found then
        update paidonce.refunds as o set generation = o.generation + 1, rivals = v_new.rivals where o.refund_id = v_id;
    end if;

    if v_new.undecided then
        perform paidonce.request_refetch(event, 'refund', v_id);
    end if;

    v_object := event #> '{data,object}';
    perform paidonce.join_purchase(null, null, null, paidonce.read_payment_ids(v_object));
    perform paidonce.settle_purchase((paidonce.read_payment_ids(v_object))[1], event);
    if event ->> 'type' <> 'snapshot' and v_object ->> 'status' in ('failed', 'canceled') then
        -- Its charge may have been stated within the same second, before or after that.
        perform paidonce.request_refetch(event, 'charge', paidonce.read_object_id(v_object -> 'charge'));
    end if;
    perform paidonce.request_purchase_link(event, (paidonce.read_payment_ids(v_object))[1]);
end
$$;

comment on function paidonce.project_refund(jsonb) is
    'Keeps a refund as last stated, and takes back from its purchase what that now implies.';

revoke all on function paidonce.project_refund(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_refund(jsonb)', variadic '{}');
