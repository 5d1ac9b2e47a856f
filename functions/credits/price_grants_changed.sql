-- Purpose:   grant what waited, when the mapping table learns of a price.
-- Arguments: none: a trigger.
-- Returns:   null.
-- Raises:    nothing.
-- Locks:     the price's id, as an event about the price would; then as paidonce.resolve_lines.
create or replace function paidonce.price_grants_changed()
returns trigger
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    perform pg_advisory_xact_lock(hashtextextended(new.price_id, 0));
    perform paidonce.resolve_lines(null, new.price_id);
    return null;
end
$$;

comment on function paidonce.price_grants_changed() is
    'Trigger: grants what waited for a price when the mapping table learns of it.';

revoke all on function paidonce.price_grants_changed() from public;
call paidonce.only_grant('execute', 'function paidonce.price_grants_changed()', variadic '{}');
