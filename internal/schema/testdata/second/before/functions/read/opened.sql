create or replace function paidonce.opened(account text) returns integer
language sql stable set search_path = ''
as $$ select opened from paidonce.accounts where account_id = account; $$;
revoke all on function paidonce.opened(text) from public;
