-- Another type of result: create or replace could not do that.
create or replace function paidonce.opened(account text) returns bigint
language sql stable set search_path = ''
as $$ select opened from paidonce.accounts where account_id = account; $$;
revoke all on function paidonce.opened(text) from public;
