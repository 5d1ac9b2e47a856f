create or replace function paidonce.gone() returns trigger
language plpgsql set search_path = ''
as $$ begin return new; end $$;
drop trigger if exists gone on paidonce.accounts;
create trigger gone before update on paidonce.accounts for each row execute function paidonce.gone();
