-- Purpose:   read what is kept of an object, whatever its type.
-- Arguments: object_type, as Stripe names it; object_id (of an entitlement summary: its customer).
-- Returns:   the common columns of its row; no row when it is not kept.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.stated(object_type text, object_id text)
returns setof paidonce.objects
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
    v_kept constant pg_catalog.record := paidonce.kept_in(paidonce.projection_of(null, object_type));
begin
    if v_kept.relation is not null then
        return query execute format('select (o::paidonce.objects).* from %s as o where o.%I = $1', v_kept.relation, v_kept.key) using object_id;
    end if;
end
$$;

comment on function paidonce.stated(text, text) is
    'What is kept of an object, whatever its type.';

revoke all on function paidonce.stated(text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.stated(text, text)', variadic '{}');
