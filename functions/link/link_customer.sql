-- Purpose:   link a customer to your user by hand, for instance when you make the customer yourself before any checkout.
-- Arguments: customer_id; user_id, a Supabase uuid or any id of yours, as text.
-- Returns:   true when the customer belongs to that user now; false, with a warning, when it already had another:
--            the first link wins and the contradiction is kept in paidonce.link_conflicts.
-- Raises:    22023 when an argument is missing; 40001 under a stricter isolation level than read committed.
-- Locks:     the customer's row and the user (see paidonce.lock_set). What waited for the link is run afterwards, by paidonce.run_due.
create or replace function paidonce.link_customer(customer_id text, user_id text)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    perform paidonce.require_read_committed();
    if coalesce(customer_id, '') = '' or coalesce(user_id, '') = '' then
        raise exception 'link_customer needs a customer id and a user id'
            using errcode = 'invalid_parameter_value';
    end if;
    perform paidonce.lock_set('{}', array[customer_id], array[user_id], '{}');
    if paidonce.link(customer_id, user_id, null) then
        return true;
    end if;
    raise warning 'customer % already belongs to another user and stays there', customer_id
        using hint = 'See paidonce.customers and paidonce.link_conflicts; if the first link is wrong, correct it there as the owner.';
    return false;
end
$$;

comment on function paidonce.link_customer(text, text) is
    'Links a customer to your user; what waited for it is due then. The first link wins; returns whether the customer is that user''s.';

revoke all on function paidonce.link_customer(text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.link_customer(text, text)', 'service_role');
