-- Purpose:   serialise the events that touch each other, before any effect reads. The one order of locks is customer, then object,
--            then ledger; this takes the first two.
-- Arguments: event.
-- Returns:   nothing.
-- Raises:    55P03 when a lock is not had within lock_timeout.
-- Locks:     the event's customer row, made if missing; then the object, by an advisory lock of the transaction, since its row may not be
--            there yet. A refund or dispute names no customer: where its payment's customer is known, that one is locked.
create or replace function paidonce.lock_subject(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_object   constant pg_catalog.jsonb := paidonce.read_object(event);
    v_id       constant pg_catalog.text := paidonce.read_object_id(v_object);
    v_customer pg_catalog.text := paidonce.read_customer_id(v_object);
begin
    if v_customer is null and coalesce(
        paidonce.projection_of(event ->> 'type'), paidonce.projection_of_object(v_object ->> 'object')
    ) in ('refund', 'dispute', 'payment') then
        select min(o.customer_id) into v_customer
        from paidonce.purchase_objects as o
        where o.object_id = any (paidonce.read_payment_ids(v_object));
    end if;

    if v_customer is not null then
        perform from paidonce.customers as c where c.customer_id = v_customer for update;
        if not found then
            insert into paidonce.customers (customer_id, account, livemode)
            values (v_customer, paidonce.read_account(event), paidonce.read_flag(event -> 'livemode'))
            on conflict (customer_id) do nothing;
            perform from paidonce.customers as c where c.customer_id = v_customer for update;
        end if;
    end if;

    if v_id is not null and v_id is distinct from v_customer then
        perform pg_advisory_xact_lock(hashtextextended(v_id, 0));
    end if;
end
$$;

comment on function paidonce.lock_subject(jsonb) is
    'Locks the customer an event is about and its object, until the end of the transaction.';

revoke all on function paidonce.lock_subject(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.lock_subject(jsonb)', variadic '{}');
