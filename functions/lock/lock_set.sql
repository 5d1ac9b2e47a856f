-- Purpose:   serialise whatever touches one purchase, one customer or one user: the one place where locks are taken. The set is looked up, locked
--            in the one order, and looked up again; if it has grown meanwhile, all of it is given back and the larger one is taken. So nothing
--            ever waits for a lock that comes before one it holds, and no circle of waits can close. Nothing later in the transaction locks
--            outside the set; what else can be waited for is only a unique key, and those are written in the order of their keys.
-- Arguments: ids of objects; customers, their ids; users, their ids; goods, prices and products whose worth will be read; account and livemode of
--            customers that have to be made.
-- Returns:   nothing.
-- Raises:    55P03 when a lock is not had within lock_timeout.
-- Locks:     advisory locks of the transaction, in the order of their numbers: the ids, the other objects of their purchases, and users;
--            shared, prices and products. Then the customers' rows, made if missing, in the order of their ids.
create or replace function paidonce.lock_set(ids text[], customers text[], users text[], goods text[], account text default null, livemode boolean default null)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_set    pg_catalog.record;
    v_again  pg_catalog.record;
    v_locked bigint;
begin
    v_set := paidonce.lock_set_of(ids, customers, users, goods);
    loop
        begin
            perform case when k.shared then pg_advisory_xact_lock_shared(k.key) else pg_advisory_xact_lock(k.key) end
            from (
                select e.key, false as shared from unnest(v_set.exclusive) as e (key)
                union all
                select s.key, true from unnest(v_set.shared) as s (key) where s.key <> all (v_set.exclusive)
                order by 1
            ) as k;
            perform from paidonce.customers as c where c.customer_id = any (v_set.customer_ids) order by c.customer_id for update;
            get diagnostics v_locked = row_count;
            if v_locked < cardinality(v_set.customer_ids) then
                insert into paidonce.customers (customer_id, account, livemode)
                select m.id, lock_set.account, lock_set.livemode from unnest(v_set.customer_ids) as m (id) order by m.id
                on conflict on constraint customers_pkey do nothing;
                perform from paidonce.customers as c where c.customer_id = any (v_set.customer_ids) order by c.customer_id for update;
            end if;
            v_again := paidonce.lock_set_of(ids, customers, users, goods);
            if v_again.exclusive <@ v_set.exclusive and v_again.shared <@ (v_set.exclusive || v_set.shared)
                and v_again.customer_ids <@ v_set.customer_ids then
                return;
            end if;
            raise exception using errcode = 'PO001';
        exception
            when sqlstate 'PO001' then
                v_set := v_again; -- leaving the block by an error has given everything back
        end;
    end loop;
end
$$;

comment on function paidonce.lock_set(text[], text[], text[], text[], text, boolean) is
    'Takes every lock that a change of these objects, customers and users needs, in the one order of locks.';

revoke all on function paidonce.lock_set(text[], text[], text[], text[], text, boolean) from public;
call paidonce.only_grant('execute', 'function paidonce.lock_set(text[], text[], text[], text[], text, boolean)', variadic '{}');
