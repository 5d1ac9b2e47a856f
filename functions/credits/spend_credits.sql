-- Purpose:   take credits from a user's balance, once per key. Refuses to go below zero.
-- Arguments: user_id; amount, a positive number of credits; key, names this spending, at most 200 characters.
-- Returns:   the balance afterwards. The same key again takes nothing and returns the balance as it is.
-- Raises:    PO402 when the balance is too small; 22023 when an argument is missing or the key was used for another amount; 40001 under a
--            stricter isolation level than read committed.
-- Locks:     the user, until the end of the transaction: all that changes the balance holds that lock.
create or replace function paidonce.spend_credits(user_id text, amount bigint, key text)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_key     constant pg_catalog.text := format(':%s:%s:%s', length(user_id), user_id, key);
    v_left    bigint := amount;
    v_balance bigint;
    v_spent   bigint;
    v_part    pg_catalog.record;
begin
    perform paidonce.require_read_committed();
    if coalesce(user_id, '') = '' or coalesce(key, '') = '' or length(key) > 200 or coalesce(amount, 0) <= 0 then
        raise exception 'spend_credits needs a user, a positive amount and a key of 1 to 200 characters'
            using errcode = 'invalid_parameter_value';
    end if;
    perform paidonce.lock_set('{}', '{}', array[user_id], '{}');

    select coalesce(sum(b.balance), 0) into v_balance from paidonce.credit_balances as b where b.user_id = spend_credits.user_id;
    select -sum(e.amount) into v_spent from paidonce.credit_entries as e
    where e.user_id = spend_credits.user_id and e.kind = 'spend' and ltrim(e.source_key, 'spend#0123456789') = v_key;

    if v_spent is not null then
        if v_spent <> amount then
            raise exception 'key % was used to spend %, not %', key, v_spent, amount using errcode = 'invalid_parameter_value';
        end if;
        return v_balance;
    end if;
    if v_balance < amount then
        raise exception 'the balance is %, too little to spend %', v_balance, amount using errcode = 'PO402';
    end if;

    -- Each customer's share is taken where it came in, so that the balance of each customer stays true.
    for v_part in
        select b.customer_id, least(b.balance, v_balance) as balance, row_number() over (order by b.customer_id nulls last) as number
        from paidonce.credit_balances as b
        where b.user_id = spend_credits.user_id and b.balance > 0
        order by 3
    loop
        insert into paidonce.credit_entries (customer_id, user_id, amount, kind, source_key)
        values (v_part.customer_id, spend_credits.user_id, -least(v_part.balance, v_left), 'spend',
            'spend' || case when v_part.number > 1 then '#' || v_part.number else '' end || v_key);
        v_left := v_left - least(v_part.balance, v_left);
        exit when v_left = 0;
    end loop;
    return v_balance - amount;
end
$$;

comment on function paidonce.spend_credits(text, bigint, text) is
    'Takes credits from a user''s balance, once per key, and returns what is left; raises PO402 rather than going below zero.';

revoke all on function paidonce.spend_credits(text, bigint, text) from public;
call paidonce.only_grant('execute', 'function paidonce.spend_credits(text, bigint, text)', 'service_role');
