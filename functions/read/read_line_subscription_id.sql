-- Purpose:   read which subscription an invoice line bills.
-- Arguments: object, an invoice line of any API version: subscription until 2025-03-31, parent.*_details.subscription since.
-- Returns:   the subscription id, or null.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_line_subscription_id(object jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return coalesce(
        paidonce.read_object_id(object -> 'subscription'),
        paidonce.read_object_id(object #> '{parent,subscription_item_details,subscription}'),
        paidonce.read_object_id(object #> '{parent,invoice_item_details,subscription}'),
        case when object ->> 'id' like 'sub\_%' then object ->> 'id' end -- early lines had the id of their subscription
    );
end
$$;

comment on function paidonce.read_line_subscription_id(jsonb) is
    'Subscription of an invoice line, from any of its places.';

revoke all on function paidonce.read_line_subscription_id(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_line_subscription_id(jsonb)', variadic '{}');
