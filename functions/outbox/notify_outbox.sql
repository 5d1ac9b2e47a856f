-- Purpose:   wake workers up when this transaction commits, as far as the setting notify asks for it. A transaction that notifies takes a
--            lock of the whole server at its commit; gated lets one at a time do so, and polling finds what the others left.
-- Arguments: none.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     gated: an advisory lock of the transaction, only if it is free.
create or replace function paidonce.notify_outbox()
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_notify constant pg_catalog.text := (select s.notify from paidonce.settings as s);
begin
    if v_notify = 'always' or (v_notify = 'gated' and pg_try_advisory_xact_lock(hashtextextended('paidonce.notify_outbox', 0))) then
        perform pg_notify('paidonce_outbox', '');
    end if;
end
$$;

comment on function paidonce.notify_outbox() is
    'Wakes outbox workers up at the commit, as far as the setting notify asks for it.';

revoke all on function paidonce.notify_outbox() from public;
call paidonce.only_grant('execute', 'function paidonce.notify_outbox()', variadic '{}');
