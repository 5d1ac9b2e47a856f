-- Purpose:   read how collection is paused.
-- Arguments: object, a subscription. Pausing collection leaves the status as it was.
-- Returns:   void, keep_as_draft, mark_uncollectible, or null.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_pause_behavior(object jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return object #>> '{pause_collection,behavior}';
end
$$;

comment on function paidonce.read_pause_behavior(jsonb) is
    'pause_collection.behavior of a subscription; null when collection is not paused.';

revoke all on function paidonce.read_pause_behavior(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_pause_behavior(jsonb)', variadic '{}');
