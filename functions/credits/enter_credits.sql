-- Purpose:   add one entry of a purchase to the ledger.
-- Arguments: customer_id, user_id, amount, kind, purchase_id; event, the cause, or null.
-- Returns:   nothing.
-- Raises:    23505 when another transaction entered the same at the same time, which the customers lock prevents.
-- Locks:     the new row.
create or replace function paidonce.enter_credits(customer_id text, user_id text, amount bigint, kind text, purchase_id text, event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    insert into paidonce.credit_entries as e (customer_id, user_id, amount, kind, source_key, purchase_id, event_id)
    select enter_credits.customer_id, enter_credits.user_id, enter_credits.amount, enter_credits.kind,
        format('%s:%s:%s', enter_credits.purchase_id, enter_credits.kind, count(e.entry_id) + 1), enter_credits.purchase_id, event ->> 'id'
    from paidonce.purchase_objects as o
    left join paidonce.credit_entries as e on e.purchase_id = o.object_id and e.kind = enter_credits.kind
    where o.purchase_id = enter_credits.purchase_id;
end
$$;

comment on function paidonce.enter_credits(text, text, bigint, text, text, jsonb) is
    'Adds one entry of a purchase to the ledger.';

revoke all on function paidonce.enter_credits(text, text, bigint, text, text, jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.enter_credits(text, text, bigint, text, text, jsonb)', variadic '{}');
