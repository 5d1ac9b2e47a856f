-- Purpose:   wait until nobody is settling a purchase by what was known of a price or product before. Whoever reads its worth holds its id,
--            shared, until the end; who begins after this reads what is known now.
-- Arguments: goods_id, a price or product.
-- Returns:   nothing.
-- Raises:    55P03 when that takes longer than lock_timeout.
-- Locks:     the id, only for a moment: kept, it would be a lock before those of the purchases that come next.
create or replace function paidonce.wait_for_readers(goods_id text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    perform pg_advisory_xact_lock(hashtextextended(goods_id, 0));
    raise exception using errcode = 'PO000';
exception
    when sqlstate 'PO000' then
        null; -- leaving the block by an error has given the lock back
end
$$;

comment on function paidonce.wait_for_readers(text) is
    'Waits until nobody is settling a purchase by what was known of a price or product before.';

revoke all on function paidonce.wait_for_readers(text) from public;
call paidonce.only_grant('execute', 'function paidonce.wait_for_readers(text)', variadic '{}');
