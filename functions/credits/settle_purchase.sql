-- Purpose:   write into the ledger what is missing so that it says what the facts imply: grants, and what refunds and disputes take back.
--            It computes the total that must now be and writes the difference, so it may run at any time and any number of times.
-- Arguments: object_id, any object of the purchase; event, the cause, or null.
-- Returns:   nothing.
-- Raises:    PO404 when credits are due to a customer that has no user yet and the event is what grants them: it is parked.
-- Locks:     the ledger by what it writes; the purchase is locked by paidonce.lock_set.
create or replace function paidonce.settle_purchase(object_id text, event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_purchase pg_catalog.text;
    v_target   pg_catalog.record;
    v_holder   pg_catalog.record;
    v_change   bigint;
begin
    select o.purchase_id into v_purchase from paidonce.purchase_objects as o where o.object_id = settle_purchase.object_id;
    if not found then
        return;
    end if;

    -- Nothing can be due where nothing was paid for yet and nothing was ever entered.
    if not exists (
        select
        from paidonce.purchase_objects as o
        left join paidonce.invoices as n on n.invoice_id = o.object_id
        left join paidonce.checkout_sessions as s on s.session_id = o.object_id
        left join paidonce.payments as y on y.payment_id = o.object_id
        where o.purchase_id = v_purchase and (n.status = 'paid' or s.credits is not null or y.credits is not null)
    ) and not exists (
        select
        from paidonce.purchase_objects as o
        join paidonce.credit_entries as e on e.purchase_id = o.object_id
        where o.purchase_id = v_purchase
    ) then
        return;
    end if;
    perform paidonce.fix_line_credits(v_purchase, event);
    select * into v_target from paidonce.credit_targets as t where t.purchase_id = v_purchase;

    if v_target.granted = 0 and v_target.entered_grants = 0 then
        return;
    end if;
    if v_target.user_id is null then
        if v_target.customer_id is not null and paidonce.projection_of(event ->> 'type') in ('invoice', 'checkout_session', 'payment') then
            raise exception 'customer % is not linked to a user yet', v_target.customer_id using errcode = 'PO404';
        end if;
        return;
    end if;

    v_change := v_target.granted - v_target.entered_grants;
    if v_change > 0 then
        perform paidonce.enter_credits(v_target.customer_id, v_target.user_id, v_change, 'grant', v_purchase, event);
    end if;
    v_change := v_target.granted - v_target.reversed - v_target.entered - greatest(v_change, 0);
    if v_change <> 0 then
        -- Taken back from whom it was given to, also after the customer has got another user.
        select e.customer_id, e.user_id into v_holder
        from paidonce.credit_entries as e
        join paidonce.purchase_objects as o on o.object_id = e.purchase_id
        where o.purchase_id = v_purchase and e.kind = 'grant'
        order by e.entry_id
        limit 1;
        perform paidonce.enter_credits(
            v_holder.customer_id, v_holder.user_id, v_change, case when v_change > 0 then 'restore' else 'reversal' end, v_purchase, event
        );
    end if;
end
$$;

comment on function paidonce.settle_purchase(text, jsonb) is
    'Writes into the ledger what is missing so that it says what the facts of a purchase imply.';

revoke all on function paidonce.settle_purchase(text, jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.settle_purchase(text, jsonb)', variadic '{}');
