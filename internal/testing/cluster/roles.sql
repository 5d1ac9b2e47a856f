-- The roles of a Supabase project, as far as a schema can meet them.

-- Who owns the project's schema: not a superuser, there or here.
create role postgres createdb createrole replication bypassrls;
alter role postgres set search_path to "$user", public, extensions;

-- Whom the API acts for.
create role anon;
create role authenticated;
create role service_role bypassrls;
alter role anon set statement_timeout to '3s';
alter role authenticated set statement_timeout to '8s';

-- Whom the API logs in as.
create role authenticator noinherit;
alter role authenticator set statement_timeout to '8s';
alter role authenticator set lock_timeout to '8s';
grant anon, authenticated, service_role to authenticator;
grant anon, authenticated, service_role to postgres with admin option;

create role supabase_auth_admin noinherit;
alter role supabase_auth_admin set search_path to auth;
