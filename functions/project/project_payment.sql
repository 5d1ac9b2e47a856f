-- Purpose:   keep a payment intent or charge as last stated, note what it belongs to, and grant what a payment intent with credits
--            of its own bought.
-- Arguments: event, any of payment_intent.* and charge.* but refunds and disputes.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row.
create or replace function paidonce.project_payment(event jsonb)
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
    from paidonce.payments as o where o.payment_id = v_id for update;
    v_new := paidonce.newest(event, v_old.as_of, v_old.as_of_rank, v_old.is_final, v_old.source_event, v_old.rivals);
    v_object := v_new.winner #> '{data,object}';

    insert into paidonce.payments as o (
        payment_id, account, livemode, as_of, as_of_rank, is_final, source_event, rivals,
        kind, customer_id, status, amount, amount_paid, amount_refunded, currency, user_id, credits, created, data
    )
    select
        v_id, event ->> 'account', paidonce.read_flag(event -> 'livemode'), paidonce.read_time(v_new.winner -> 'created'),
        v_new.as_of_rank, v_new.is_final, v_new.winner ->> 'id', v_new.rivals,
        case v_object ->> 'object' when 'charge' then 'charge' else 'payment_intent' end,
        paidonce.read_customer_id(v_object),
        v_object ->> 'status',
        paidonce.read_integer(v_object -> 'amount'),
        paidonce.read_payment_amount(v_object),
        paidonce.read_integer(v_object -> 'amount_refunded'),
        v_object ->> 'currency',
        paidonce.read_metadata(v_object, (select s.user_id_metadata_key from paidonce.settings as s)),
        paidonce.read_credits(v_object),
        paidonce.read_time(v_object -> 'created'),
        v_object
    where v_new.winner is not null
    on conflict (payment_id) do update
    set as_of = excluded.as_of, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        source_event = excluded.source_event, rivals = excluded.rivals, generation = o.generation + 1,
        kind = excluded.kind,
        customer_id = excluded.customer_id,
        status = excluded.status,
        amount = excluded.amount,
        amount_paid = excluded.amount_paid,
        amount_refunded = excluded.amount_refunded,
        currency = excluded.currency,
        user_id = excluded.user_id,
        credits = excluded.credits,
        created = excluded.created,
        data = excluded.data;

    if not found then
        update paidonce.payments as o set generation = o.generation + 1, rivals = v_new.rivals where o.payment_id = v_id;
    end if;

    if v_new.undecided then
        perform paidonce.request_refetch(event, event #>> '{data,object,object}', v_id);
    end if;

    v_object := event #> '{data,object}';
    perform paidonce.join_purchase(
        paidonce.read_customer_id(v_object), null, paidonce.read_payment_invoice_id(v_object), array[v_id] || paidonce.read_payment_ids(v_object)
    );
    if v_object ? 'invoice' then
        update paidonce.purchase_objects as o set link_known = true where o.object_id = v_id and not o.link_known;
    end if;
    perform paidonce.settle_purchase(v_id, event);
    if paidonce.read_integer(v_object -> 'amount_refunded') > 0 then
        perform paidonce.request_purchase_link(event, v_id);
    end if;
end
$$;

comment on function paidonce.project_payment(jsonb) is
    'Keeps a payment intent or charge as last stated, and notes which purchase it pays.';

revoke all on function paidonce.project_payment(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_payment(jsonb)', variadic '{}');
