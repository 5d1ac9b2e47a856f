create or replace function paidonce.same(value text) returns text
language sql immutable set search_path = ''
as $$ select value; $$;
