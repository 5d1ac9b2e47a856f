-- Purpose:   keep a checkout session as last stated, link its customer to the user who checked out (client_reference_id, else
--            metadata), and grant what a paid session without an invoice bought.
-- Arguments: event, any of checkout.session.*.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row.
create or replace function paidonce.project_checkout_session(event jsonb)
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
    from paidonce.checkout_sessions as o where o.session_id = v_id for update;
    v_new := paidonce.newest(event, v_old.as_of, v_old.as_of_rank, v_old.is_final, v_old.source_event, v_old.rivals);
    v_object := v_new.winner #> '{data,object}';

    insert into paidonce.checkout_sessions as o (
        session_id, account, livemode, as_of, as_of_rank, is_final, source_event, rivals,
        customer_id, user_id, mode, status, payment_status, invoice_id, amount_total, currency, credits, created, data
    )
    select
        v_id, event ->> 'account', paidonce.read_flag(event -> 'livemode'), paidonce.read_time(v_new.winner -> 'created'),
        v_new.as_of_rank, v_new.is_final, v_new.winner ->> 'id', v_new.rivals,
        paidonce.read_customer_id(v_object),
        coalesce(
            nullif(v_object ->> 'client_reference_id', ''),
            paidonce.read_metadata(v_object, (select s.user_id_metadata_key from paidonce.settings as s))
        ),
        v_object ->> 'mode',
        v_object ->> 'status',
        v_object ->> 'payment_status',
        paidonce.read_object_id(v_object -> 'invoice'),
        paidonce.read_integer(v_object -> 'amount_total'),
        v_object ->> 'currency',
        paidonce.read_credits(v_object),
        paidonce.read_time(v_object -> 'created'),
        v_object
    where v_new.winner is not null
    on conflict (session_id) do update
    set as_of = excluded.as_of, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        source_event = excluded.source_event, rivals = excluded.rivals, generation = o.generation + 1,
        customer_id = excluded.customer_id,
        user_id = excluded.user_id,
        mode = excluded.mode,
        status = excluded.status,
        payment_status = excluded.payment_status,
        invoice_id = excluded.invoice_id,
        amount_total = excluded.amount_total,
        currency = excluded.currency,
        credits = excluded.credits,
        created = excluded.created,
        data = excluded.data;

    if not found then
        update paidonce.checkout_sessions as o set generation = o.generation + 1, rivals = v_new.rivals where o.session_id = v_id;
    end if;

    if v_new.undecided then
        perform paidonce.request_refetch(event, 'checkout.session', v_id);
    end if;

    v_object := event #> '{data,object}';
    -- Joined first: the link may run parked events of this purchase.
    perform paidonce.join_purchase(
        paidonce.read_customer_id(v_object), v_id, paidonce.read_object_id(v_object -> 'invoice'), paidonce.read_payment_ids(v_object)
    );
    if coalesce(v_object ->> 'client_reference_id', '') <> '' then
        perform paidonce.link(paidonce.read_customer_id(v_object), v_object ->> 'client_reference_id', event ->> 'id');
    else
        perform paidonce.link_from_metadata(event, v_object, paidonce.read_customer_id(v_object));
    end if;

    perform paidonce.settle_purchase(v_id, event);
end
$$;

comment on function paidonce.project_checkout_session(jsonb) is
    'Keeps a checkout session as last stated, links its customer to the user who checked out, and grants what it bought.';

revoke all on function paidonce.project_checkout_session(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_checkout_session(jsonb)', variadic '{}');
