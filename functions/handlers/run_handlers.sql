-- Purpose:   call the registered effects of an event, one after the other.
-- Arguments: handlers, as paidonce.handlers_for gives them; event.
-- Returns:   nothing.
-- Raises:    whatever an effect raises; 42883 where a registered function is gone; the error of a deferred constraint
--            that the effects leave violated, which would otherwise come up at the commit, when it cannot be kept.
-- Locks:     whatever an effect locks.
create or replace function paidonce.run_handlers(handlers text[], event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_handler pg_catalog.text;
begin
    foreach v_handler in array handlers loop
        execute format('select %s($1)', v_handler) using event;
    end loop;

    if cardinality(handlers) > 0 then
        begin
            set constraints all immediate;
            -- Leaving by an error puts the constraints back to what they were for whatever runs next.
            raise exception using errcode = 'PO000';
        exception
            when sqlstate 'PO000' then
                null;
        end;
    end if;
end
$$;

comment on function paidonce.run_handlers(text[], jsonb) is
    'Calls the registered effects of an event in their order.';

revoke all on function paidonce.run_handlers(text[], jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.run_handlers(text[], jsonb)', variadic '{}');
