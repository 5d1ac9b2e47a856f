-- Purpose:   ask for a refetch of the object that a thin event speaks of: it carries no object itself. Its snapshot twin, where there is
--            one, states the same fact and meets the same row.
-- Arguments: event, a v2.core.event of a v1 resource (Stripe API 2026-09-30 and later).
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the new outbox row.
create or replace function paidonce.project_thin_event(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_type constant pg_catalog.text := event #>> '{related_object,type}';
begin
    if paidonce.projection_of(null, v_type) is not null then
        perform paidonce.request_refetch(
            event || jsonb_build_object('account', paidonce.read_account(event)), v_type, event #>> '{related_object,id}'
        );
    end if;
end
$$;

comment on function paidonce.project_thin_event(jsonb) is
    'Asks for a refetch of the object that a thin event speaks of.';

revoke all on function paidonce.project_thin_event(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_thin_event(jsonb)', variadic '{}');
