-- Purpose:   read what Stripe says a customer is entitled to.
-- Arguments: object, an active entitlement summary.
-- Returns:   lookup keys in order, each once; complete: false where the list goes on beyond what the object carries.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_entitlement_summary(object jsonb, out features text[], out complete boolean)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    features := array(
        select distinct e.entitlement ->> 'lookup_key'
        from jsonb_array_elements(
            case jsonb_typeof(object #> '{entitlements,data}') when 'array' then object #> '{entitlements,data}' else '[]' end
        ) as e (entitlement)
        where e.entitlement ->> 'lookup_key' <> ''
        order by 1
    );
    complete := object #> '{entitlements,has_more}' is distinct from 'true';
end
$$;

comment on function paidonce.read_entitlement_summary(jsonb) is
    'What an active entitlement summary says.';

revoke all on function paidonce.read_entitlement_summary(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_entitlement_summary(jsonb)', variadic '{}');
