-- Purpose:   give a customer its user. The first link wins; another user named later changes nothing and is kept in link_conflicts.
--            What waited for the first link, parked events and purchases, is due after it: see paidonce.run_due.
-- Arguments: customer_id, user_id (a null or blank one links nothing); event_id, the cause, or null when it is a person.
-- Returns:   true when the customer belongs to that user now.
-- Raises:    nothing.
-- Locks:     the customer's row, which paidonce.lock_set has locked and made.
create or replace function paidonce.link(customer_id text, user_id text, event_id text)
returns boolean
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_owner pg_catalog.text;
begin
    if coalesce(customer_id, '') = '' or coalesce(user_id, '') = '' then
        return false;
    end if;

    select c.user_id into v_owner from paidonce.customers as c where c.customer_id = link.customer_id;
    if v_owner is null then
        update paidonce.customers as c
        set user_id = link.user_id, linked_at = clock_timestamp(), link_event = link.event_id
        where c.customer_id = link.customer_id;
        if exists (select from paidonce.events as e where e.customer_id = link.customer_id and e.status = 'parked')
            or exists (select from paidonce.invoices as n where n.customer_id = link.customer_id and n.status = 'paid')
            or exists (select from paidonce.payments as p where p.customer_id = link.customer_id and p.credits is not null)
            or exists (select from paidonce.checkout_sessions as s where s.customer_id = link.customer_id and s.credits is not null) then
            perform paidonce.mark_due('customer', link.customer_id, link.event_id);
        end if;
    elsif v_owner <> user_id then
        insert into paidonce.link_conflicts as l (customer_id, user_id, event_id)
        values (link.customer_id, link.user_id, link.event_id)
        on conflict on constraint link_conflicts_pkey do nothing;
    end if;

    return coalesce(v_owner, user_id) = user_id;
end
$$;

comment on function paidonce.link(text, text, text) is
    'Gives a customer its user; the first link wins, a contradiction is kept in link_conflicts.';

revoke all on function paidonce.link(text, text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.link(text, text, text)', variadic '{}');
