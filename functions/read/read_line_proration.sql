-- Purpose:   read whether an invoice line settles a change within a period.
-- Arguments: object, an invoice line of any API version: proration until 2025-03-31, parent.*_details.proration since.
-- Returns:   true or false.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_line_proration(object jsonb)
returns boolean
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return coalesce(
        paidonce.read_flag(object -> 'proration'),
        paidonce.read_flag(object #> '{parent,subscription_item_details,proration}'),
        paidonce.read_flag(object #> '{parent,invoice_item_details,proration}'),
        false
    );
end
$$;

comment on function paidonce.read_line_proration(jsonb) is
    'Whether an invoice line is prorated, from any of its places.';

revoke all on function paidonce.read_line_proration(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_line_proration(jsonb)', variadic '{}');
