-- The schema, the two roles of the kit, and the one procedure that hands out rights.

create schema if not exists paidonce;
comment on schema paidonce is 'paidonce: one Stripe event, one business effect, however many times it arrives';
revoke all on schema paidonce from public;

-- Roles belong to the cluster, not to this database: another database may have made them, maybe at
-- this very moment, and a migration role without CREATEROLE goes on without them.
do $$
declare
    v_role pg_catalog.text;
begin
    foreach v_role in array array['paidonce_edge', 'paidonce_worker'] loop
        begin
            if not exists (select from pg_catalog.pg_roles where rolname = v_role) then
                execute pg_catalog.format('create role %I nologin', v_role);
            end if;
        exception
            when duplicate_object or unique_violation then
                null;
            when insufficient_privilege then
                raise notice 'role % is missing and could not be created: create it as an administrator, then apply this migration again', v_role;
        end;
    end loop;
end
$$;

-- Purpose:   leave exactly the named rights on one object: everything is taken from PUBLIC, from the API
--            roles and from the kit's roles, then the privilege is granted to the roles that are named.
--            Roles that this server does not have (plain Postgres has no anon) are passed over.
-- Arguments: privilege, as in GRANT; object, as in GRANT ... ON; the roles.
-- Raises:    whatever GRANT and REVOKE raise.
-- Locks:     the object's catalog row.
create or replace procedure paidonce.only_grant(privilege text, object text, variadic grantees text[])
language plpgsql
security invoker
set search_path = ''
as $$
declare
    v_role pg_catalog.text;
begin
    execute pg_catalog.format('revoke all on %s from public', object);
    for v_role in
        select r.rolname
        from pg_catalog.pg_roles as r
        where r.rolname in ('anon', 'authenticated', 'service_role', 'paidonce_edge', 'paidonce_worker')
        order by r.rolname
    loop
        execute pg_catalog.format('revoke all on %s from %I', object, v_role);
        if v_role = any (grantees) then
            execute pg_catalog.format('grant %s on %s to %I', privilege, object, v_role);
        end if;
    end loop;
end
$$;
comment on procedure paidonce.only_grant(text, text, text[]) is
    'Takes every right on an object from PUBLIC and the API roles, then grants one privilege to the roles named; roles that do not exist here are passed over.';
revoke all on procedure paidonce.only_grant(text, text, text[]) from public;
call paidonce.only_grant('execute', 'procedure paidonce.only_grant(text, text, text[])', variadic '{}');

call paidonce.only_grant('usage', 'schema paidonce', 'anon', 'authenticated', 'service_role', 'paidonce_worker');

-- Purpose:   let one API role read the rows of a table that a condition admits.
-- Arguments: relation; role_name; policy_name, a sentence; condition, as in CREATE POLICY ... USING.
-- Raises:    whatever CREATE POLICY raises. Nothing happens where the role does not exist.
-- Locks:     the table, exclusively.
create or replace procedure paidonce.read_policy(relation text, role_name text, policy_name text, condition text)
language plpgsql
security invoker
set search_path = ''
as $$
begin
    execute pg_catalog.format('drop policy if exists %I on %s', policy_name, relation);
    if exists (select from pg_catalog.pg_roles as r where r.rolname = role_name) then
        execute pg_catalog.format('create policy %I on %s for select to %I using (%s)', policy_name, relation, role_name, condition);
    end if;
end
$$;
comment on procedure paidonce.read_policy(text, text, text, text) is
    'Lets one API role read the rows of a table that a condition admits; nothing where the role does not exist.';
revoke all on procedure paidonce.read_policy(text, text, text, text) from public;
call paidonce.only_grant('execute', 'procedure paidonce.read_policy(text, text, text, text)', variadic '{}');
