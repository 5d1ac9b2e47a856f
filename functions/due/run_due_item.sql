-- Purpose:   do one step of what is due: one parked event, or one purchase; and note how far its item has got.
-- Arguments: item; patience, how long to wait for a lock.
-- Returns:   nothing. The item's row is deleted once nothing of it is left.
-- Raises:    what makes a whole delivery try again (see handle_stripe_event). An event that fails is kept as failed.
-- Locks:     as an event does, or as all that belongs to the purchase (see paidonce.lock_set).
create or replace function paidonce.run_due_item(item paidonce.due_work, patience text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
set lock_timeout = '3s'
as $$
declare
    v_next    paidonce.due_work;
    v_payload pg_catalog.jsonb;
begin
    perform set_config('lock_timeout', patience, true);
    if item.kind in ('price', 'product') and item.done_until_id is null then
        perform paidonce.wait_for_readers(item.subject);
    end if;
    if item.kind = 'product' then
        -- Lines wait by price.
        insert into paidonce.due_work (kind, subject, cause)
        select distinct 'price', l.price_id, item.cause
        from paidonce.invoice_lines as l
        left join paidonce.prices as p on p.price_id = l.price_id
        where l.credits is null and l.price_id is not null and coalesce(l.product_id, p.product_id) = item.subject;
        delete from paidonce.due_work as d where d.due_id = item.due_id;
        return;
    end if;
    v_next := paidonce.next_due(item);
    if v_next.kind = 'event' then
        select e.payload into v_payload from paidonce.events as e where e.event_id = v_next.subject and e.status = 'parked';
        if found then
            perform public.handle_stripe_event(
                v_payload || jsonb_build_object('paidonce', jsonb_build_object('source', 'link', 'patience', patience))
            );
        end if;
    elsif v_next.kind = 'purchase' then
        perform paidonce.lock_set(array[v_next.subject], '{}', '{}', '{}');
        perform paidonce.settle_purchase(v_next.subject, case when item.cause is not null then jsonb_build_object('id', item.cause) end);
    end if;
    if v_next.kind is null or v_next.kind = item.kind then
        delete from paidonce.due_work as d where d.due_id = item.due_id;
    else
        -- Behind what else is due, so that none of many waits for all of one.
        update paidonce.due_work as d
        set done_until = v_next.done_until, done_until_id = v_next.done_until_id, next_attempt_at = clock_timestamp()
        where d.due_id = item.due_id;
    end if;
end
$$;

comment on function paidonce.run_due_item(paidonce.due_work, text) is
    'Does one step of what is due: one parked event, or one purchase.';

revoke all on function paidonce.run_due_item(paidonce.due_work, text) from public;
call paidonce.only_grant('execute', 'function paidonce.run_due_item(paidonce.due_work, text)', variadic '{}');
