-- Purpose:   say why an event has no business here.
-- Arguments: event; handlers, the registered functions that would run for it.
-- Returns:   the reason as a sentence, or null when the event is to be processed.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.ignore_reason(event jsonb, handlers text[])
returns text
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
    v_livemode boolean;
    v_account  pg_catalog.text;
begin
    select s.livemode, s.account into v_livemode, v_account from paidonce.settings as s;

    if v_livemode is distinct from paidonce.read_flag(event -> 'livemode') and v_livemode is not null then
        return format('livemode is %s, this installation accepts %s', coalesce(event ->> 'livemode', 'missing'), case when v_livemode then 'true' else 'false' end);
    end if;
    if v_account is distinct from paidonce.read_account(event) and v_account is not null then
        return format('account is %s, this installation accepts %s', coalesce(paidonce.read_account(event), 'missing'), v_account);
    end if;
    if paidonce.projection_of(event ->> 'type') is null and cardinality(handlers) = 0 then
        return format('no handler for %s', event ->> 'type');
    end if;
    return null;
end
$$;

comment on function paidonce.ignore_reason(jsonb, text[]) is
    'Why an event is ignored here (livemode, account, no handler), or null.';

revoke all on function paidonce.ignore_reason(jsonb, text[]) from public;
call paidonce.only_grant('execute', 'function paidonce.ignore_reason(jsonb, text[])', variadic '{}');
