-- Purpose:   tell how many times an object was spoken of, to be read before it is fetched.
-- Arguments: object_type, as Stripe names it; object_id (of an entitlement summary: its customer).
-- Returns:   the generation of its row; 0 when there is none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.generation_of(object_type text, object_id text)
returns bigint
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
    return coalesce((select s.generation from paidonce.stated(object_type, object_id) as s), 0);
end
$$;

comment on function paidonce.generation_of(text, text) is
    'How many times an object was spoken of; read it before fetching the object, hand it to paidonce.apply_snapshot.';

revoke all on function paidonce.generation_of(text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.generation_of(text, text)', 'paidonce_worker');
