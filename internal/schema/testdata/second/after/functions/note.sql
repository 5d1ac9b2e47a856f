create or replace function paidonce.note(account text) returns text
language sql stable set search_path = ''
as $$ select note from paidonce.accounts where account_id = account; $$;
