-- Purpose:   say whether the signed-in user has a feature now.
-- Arguments: feature, a lookup key or feature name.
-- Returns:   true or false; false when nobody is signed in.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.has_access(feature text)
returns boolean
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
    return exists (
        select from paidonce.entitlements as e
        where e.user_id = nullif(current_setting('request.jwt.claims', true), '')::pg_catalog.jsonb ->> 'sub'
            and e.feature = has_access.feature
    );
end
$$;

comment on function paidonce.has_access(text) is
    'Whether the signed-in user (the sub of the request''s JWT) has a feature now.';

revoke all on function paidonce.has_access(text) from public;
call paidonce.only_grant('execute', 'function paidonce.has_access(text)', 'authenticated', 'service_role');
