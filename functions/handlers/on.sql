-- Purpose:   register an effect: from now on the function runs for every event of that type, after the
--            built-in effects, in the order of registration, under their locks and in their transaction.
-- Arguments: event_type, an exact type, a family such as customer.subscription.*, or *;
--            handler, a function that takes one jsonb, the event.
-- Returns:   nothing. Registering twice changes nothing; after paidonce.off it takes its old place again.
-- Raises:    22023 when the pattern or the function cannot be registered.
-- Locks:     the registry's row.
create or replace function paidonce.on(event_type text, handler regprocedure)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_function pg_catalog.record;
begin
    select p.prokind, p.proretset, p.pronargs, p.proargtypes[0] as argument,
        format('%I.%I', n.nspname, p.proname) as name
    into v_function
    from pg_catalog.pg_proc as p
    join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
    where p.oid = "on".handler;

    if not found or v_function.prokind <> 'f' or v_function.proretset
        or v_function.pronargs <> 1 or v_function.argument <> 'pg_catalog.jsonb'::pg_catalog.regtype then
        raise exception 'an effect must be a plain function of one jsonb, % is not', coalesce(handler::pg_catalog.text, 'null')
            using errcode = 'invalid_parameter_value',
                hint = 'Declare it as: create function app.my_effect(event jsonb) returns void ...';
    end if;
    if event_type is null or event_type !~ '^([a-zA-Z0-9_]+(\.[a-zA-Z0-9_]+)*(\.\*)?|\*)$' then
        raise exception '% is not an event type', coalesce(quote_literal(event_type), 'null')
            using errcode = 'invalid_parameter_value',
                hint = 'Name an exact type (invoice.paid), a family (customer.subscription.*) or *.';
    end if;

    insert into paidonce.handlers as h (event_type, handler, function_name)
    values ("on".event_type, "on".handler::pg_catalog.text, v_function.name)
    on conflict on constraint handlers_pkey do update
    set enabled = true, function_name = excluded.function_name;
end
$$;

comment on function paidonce.on(text, regprocedure) is
    'Registers an effect of your own for a type of event: select paidonce.on(''invoice.paid'', ''app.receipt(jsonb)''). Owner only.';

revoke all on function paidonce.on(text, regprocedure) from public;
call paidonce.only_grant('execute', 'function paidonce.on(text, regprocedure)', variadic '{}');
