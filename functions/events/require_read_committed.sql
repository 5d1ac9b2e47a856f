-- Purpose:   refuse to work from a snapshot that is older than the locks it is about to take. Every effect reads
--            under its customer's lock what others committed just before; a transaction under repeatable read or
--            serializable would not see it, and no row it updates would tell.
-- Arguments: none.
-- Returns:   nothing.
-- Raises:    40001 under repeatable read and serializable.
-- Locks:     nothing.
create or replace function paidonce.require_read_committed()
returns void
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
    if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
        raise exception 'paidonce works at read committed, this transaction is %', current_setting('transaction_isolation')
            using errcode = 'serialization_failure',
                hint = 'alter role <the role that calls> set default_transaction_isolation = ''read committed''';
    end if;
end
$$;

comment on function paidonce.require_read_committed() is
    'Raises 40001 in a transaction stricter than read committed.';

revoke all on function paidonce.require_read_committed() from public;
call paidonce.only_grant('execute', 'function paidonce.require_read_committed()', variadic '{}');
