-- Purpose:   read the state of an invoice.
-- Arguments: object, an invoice of any API version. Before API 2018-11-08 flags (paid, closed, forgiven) said what status says now.
-- Returns:   draft, open, paid, uncollectible or void; null when nothing says it.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_invoice_status(object jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    if paidonce.read_flag(object -> 'paid') then
        return 'paid'; -- the flag, where there is one, is stated with every invoice.* event of its version
    end if;
    if jsonb_typeof(object -> 'status') = 'string' then
        return object ->> 'status';
    end if;
    return case
        when paidonce.read_flag(object -> 'forgiven') then 'uncollectible'
        when paidonce.read_flag(object -> 'closed') then 'void'
        when paidonce.read_flag(object -> 'paid') is not null then 'open'
    end;
end
$$;

comment on function paidonce.read_invoice_status(jsonb) is
    'State of an invoice, from its status or from the flags of old API versions.';

revoke all on function paidonce.read_invoice_status(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_invoice_status(jsonb)', variadic '{}');
