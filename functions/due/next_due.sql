-- Purpose:   find the next thing to do of an item: of a customer its parked events, oldest first, then its purchases; of a price the
--            invoices with paid lines that waited for it.
-- Arguments: item.
-- Returns:   kind event or purchase, its subject, and how far the item has got with it; an event or purchase by itself is returned as it is;
--            kind null when nothing is left.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.next_due(item paidonce.due_work)
returns paidonce.due_work
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
    v_next paidonce.due_work := item;
begin
    if item.kind in ('event', 'purchase') then
        return item;
    end if;
    v_next.kind := null;
    if item.kind = 'customer' and coalesce(item.done_until_id, '') not like '/%' then
        select 'event', e.event_id, coalesce(e.created, 'infinity'), e.event_id
        into v_next.kind, v_next.subject, v_next.done_until, v_next.done_until_id
        from paidonce.events as e
        where e.customer_id = item.subject and e.status = 'parked'
            and (coalesce(e.created, 'infinity'), e.event_id) > (coalesce(item.done_until, '-infinity'), coalesce(item.done_until_id, ''))
        order by coalesce(e.created, 'infinity'), e.event_id
        limit 1;
    end if;
    if item.kind = 'customer' and v_next.kind is null then
        select 'purchase', min(o.purchase_id), '/' || min(o.purchase_id)
        into v_next.kind, v_next.subject, v_next.done_until_id
        from paidonce.purchase_objects as o
        where o.customer_id = item.subject and '/' || o.purchase_id > coalesce(substring(item.done_until_id from '^/.*'), '/')
        having min(o.purchase_id) is not null;
    elsif item.kind = 'price' then
        select 'purchase', n.invoice_id, n.invoice_id
        into v_next.kind, v_next.subject, v_next.done_until_id
        from paidonce.invoice_lines as l
        join paidonce.invoices as n on n.invoice_id = l.invoice_id
        where l.credits is null and n.status = 'paid' and l.invoice_id > coalesce(item.done_until_id, '')
            and l.price_id = item.subject
        order by l.invoice_id
        limit 1;
    end if;
    return v_next;
end
$$;

comment on function paidonce.next_due(paidonce.due_work) is
    'The next event or purchase that an item of due work is about.';

revoke all on function paidonce.next_due(paidonce.due_work) from public;
call paidonce.only_grant('execute', 'function paidonce.next_due(paidonce.due_work)', variadic '{}');
