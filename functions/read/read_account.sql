-- Purpose:   read which connected account an event comes from.
-- Arguments: event: account of a snapshot event, context of a thin one.
-- Returns:   the account id (acct_...), or null for the platform's own.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_account(event jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return coalesce(event ->> 'account', event ->> 'context');
end
$$;

comment on function paidonce.read_account(jsonb) is
    'Connected account an event comes from; null for the platform''s own.';

revoke all on function paidonce.read_account(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_account(jsonb)', variadic '{}');
