-- Purpose:   say whether an event has business here and what would run for it: the one look at the settings and the registry per event.
-- Arguments: event_type; livemode and account of the event.
-- Returns:   refusal, why it is to be ignored as a sentence, or null; handlers, the quoted names of the registered functions in the order in
--            which they run, each once; metadata_key, where metadata names a user.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.admit(event_type text, livemode boolean, account text,
    out refusal text, out handlers text[], out metadata_key text)
returns record
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
    v_livemode boolean;
    v_account  pg_catalog.text;
begin
    select s.livemode, s.account, s.user_id_metadata_key,
        array(
            select h.function_name
            from paidonce.handlers as h
            where h.enabled
                and (h.event_type in (admit.event_type, '*')
                    or (h.event_type like '%.*' and starts_with(admit.event_type, rtrim(h.event_type, '*'))))
            group by h.function_name
            order by min(h.position), h.function_name
        )
    into v_livemode, v_account, metadata_key, handlers
    from paidonce.settings as s;
    if v_livemode is distinct from admit.livemode and v_livemode is not null then
        refusal := format('livemode is %s, this installation accepts %s',
            case admit.livemode when true then 'true' when false then 'false' else 'missing' end, case when v_livemode then 'true' else 'false' end);
    elsif v_account is distinct from admit.account and v_account is not null then
        refusal := format('account is %s, this installation accepts %s', coalesce(admit.account, 'missing'), v_account);
    elsif handlers = '{}' and paidonce.projection_of(event_type) is null then
        refusal := format('no handler for %s', event_type);
    end if;
end
$$;

comment on function paidonce.admit(text, boolean, text) is
    'Whether an event has business here (livemode, account, a handler), and which effects run for it.';

revoke all on function paidonce.admit(text, boolean, text) from public;
call paidonce.only_grant('execute', 'function paidonce.admit(text, boolean, text)', variadic '{}');
