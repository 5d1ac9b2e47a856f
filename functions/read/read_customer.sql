-- Purpose:   read what a customer says.
-- Arguments: object, a customer.
-- Returns:   its facts; null what it does not say.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_customer(object jsonb, out email text, out name text)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    email := object ->> 'email';
    name := object ->> 'name';
end
$$;

comment on function paidonce.read_customer(jsonb) is
    'What a customer object says.';

revoke all on function paidonce.read_customer(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_customer(jsonb)', variadic '{}');
