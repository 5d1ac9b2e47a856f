-- Purpose:   call the registered effects of an event, one after the other.
-- Arguments: handlers, as paidonce.admit gives them; event.
-- Returns:   nothing.
-- Raises:    42501 when the session has prepared types of its own for the effects to fall for; whatever an effect raises; 42883 where a registered function is gone; the error of a deferred constraint
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
    -- Postgres looks for types in the session's temporary schema first. A caller with a type named text of its own there would
    -- have every effect that declares a text run the caller's code with the owner's rights.
    if pg_my_temp_schema() <> 0 and exists (
        select from pg_catalog.pg_type as t
        join pg_catalog.pg_type as c on c.typname = t.typname and c.typnamespace = 'pg_catalog'::pg_catalog.regnamespace
        where t.typnamespace = pg_my_temp_schema()
    ) then
        raise exception 'the session has temporary types named like built-in ones' using errcode = 'insufficient_privilege';
    end if;

    foreach v_handler in array handlers loop
        execute format('select %s($1)', v_handler) using event;
    end loop;

    begin
        set constraints all immediate;
        -- Leaving by an error puts the constraints back to what they were for whatever runs next.
        raise exception using errcode = 'PO000';
    exception
        when sqlstate 'PO000' then
            null;
    end;
end
$$;

comment on function paidonce.run_handlers(text[], jsonb) is
    'Calls the registered effects of an event in their order.';

revoke all on function paidonce.run_handlers(text[], jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.run_handlers(text[], jsonb)', variadic '{}');
