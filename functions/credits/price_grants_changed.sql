-- Purpose:   mark what waited as due, when the mapping table learns of a price.
-- Arguments: none: a trigger.
-- Returns:   null.
-- Raises:    nothing.
-- Locks:     the new row of paidonce.due_work.
create or replace function paidonce.price_grants_changed()
returns trigger
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    if new.credits is not null then
        perform paidonce.mark_due('price', new.price_id, null);
    end if;
    return null;
end
$$;

comment on function paidonce.price_grants_changed() is
    'Trigger: marks what waited for a price as due when the mapping table learns of it.';

revoke all on function paidonce.price_grants_changed() from public;
call paidonce.only_grant('execute', 'function paidonce.price_grants_changed()', variadic '{}');
