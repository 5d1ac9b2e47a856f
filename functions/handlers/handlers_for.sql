-- Purpose:   find the registered effects of an event type, in the order in which they run.
-- Arguments: event_type.
-- Returns:   quoted, qualified function names; each once, however many of its patterns match; empty if none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.handlers_for(event_type text)
returns text[]
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
    return array(
        select h.function_name
        from paidonce.handlers as h
        where h.enabled
            and (h.event_type in (handlers_for.event_type, '*')
                or (h.event_type like '%.*' and starts_with(handlers_for.event_type, rtrim(h.event_type, '*'))))
        group by h.function_name
        order by min(h.position), h.function_name
    );
end
$$;

comment on function paidonce.handlers_for(text) is
    'The functions registered for an event type, in the order in which they run.';

revoke all on function paidonce.handlers_for(text) from public;
call paidonce.only_grant('execute', 'function paidonce.handlers_for(text)', variadic '{}');
