-- Purpose:   say which projection keeps an object of a type.
-- Arguments: object_type, as Stripe names it.
-- Returns:   the name of the projection, or null when no table keeps it.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.projection_of_object(object_type text)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return paidonce.projection_of(null, object_type);
end
$$;

comment on function paidonce.projection_of_object(text) is
    'Which projection keeps an object of a type, or null.';

revoke all on function paidonce.projection_of_object(text) from public;
call paidonce.only_grant('execute', 'function paidonce.projection_of_object(text)', variadic '{}');
