-- Purpose:   read what a subscription is for.
-- Arguments: object, a subscription of any API version. Before items there was one plan and one quantity.
-- Returns:   a JSON array of items, empty when there are none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_subscription_items(object jsonb)
returns jsonb
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case
        when jsonb_typeof(object #> '{items,data}') = 'array' and object #> '{items,data}' <> '[]' then
            object #> '{items,data}'
        when jsonb_typeof(object -> 'plan') = 'object' then
            jsonb_build_array(jsonb_build_object(
                'id', (object ->> 'id') || ':plan',
                'plan', object -> 'plan',
                'quantity', object -> 'quantity'
            ))
        else '[]'
    end;
end
$$;

comment on function paidonce.read_subscription_items(jsonb) is
    'The items of a subscription as a JSON array; one made of its plan where old API versions state no items.';

revoke all on function paidonce.read_subscription_items(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_subscription_items(jsonb)', variadic '{}');
