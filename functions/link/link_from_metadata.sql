-- Purpose:   link a customer to the user whom an object's metadata names, if any.
-- Arguments: event; object, which has the metadata; customer_id, which may be null.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the customer's row.
create or replace function paidonce.link_from_metadata(event jsonb, object jsonb, customer_id text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    if jsonb_typeof(object -> 'metadata') = 'object' and object -> 'metadata' <> '{}' then
        perform paidonce.link(
            link_from_metadata.customer_id,
            nullif(btrim(object -> 'metadata' ->> (select s.user_id_metadata_key from paidonce.settings as s)), ''),
            event ->> 'id'
        );
    end if;
end
$$;

comment on function paidonce.link_from_metadata(jsonb, jsonb, text) is
    'Links a customer to the user whom an object''s metadata names, if any.';

revoke all on function paidonce.link_from_metadata(jsonb, jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.link_from_metadata(jsonb, jsonb, text)', variadic '{}');
