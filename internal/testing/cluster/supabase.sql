-- A database as a Supabase project has it: schemas, default privileges, settings.

-- Everything new in public is open to the API's roles unless it is revoked
-- from each of them by name.
grant usage on schema public to postgres, anon, authenticated, service_role;
alter default privileges for role postgres, supabase_admin in schema public
    grant all on tables to postgres, anon, authenticated, service_role;
alter default privileges for role postgres, supabase_admin in schema public
    grant all on functions to postgres, anon, authenticated, service_role;
alter default privileges for role postgres, supabase_admin in schema public
    grant all on sequences to postgres, anon, authenticated, service_role;

create schema extensions authorization postgres;
grant usage on schema extensions to anon, authenticated, service_role;

create schema graphql_public;
grant usage on schema graphql_public to postgres, anon, authenticated, service_role;

create schema auth;
grant usage on schema auth to postgres, anon, authenticated, service_role;
grant all on schema auth to supabase_auth_admin;

create table auth.users (
    id uuid primary key,
    aud text,
    role text,
    email text unique,
    raw_app_meta_data jsonb,
    raw_user_meta_data jsonb,
    created_at timestamptz not null default now()
);
alter table auth.users owner to supabase_auth_admin;
alter table auth.users enable row level security;
grant select, insert, update, delete, references, trigger on auth.users to postgres;

create function auth.jwt() returns jsonb language sql stable as $$
    select nullif(current_setting('request.jwt.claims', true), '')::jsonb
$$;

create function auth.uid() returns uuid language sql stable as $$
    select coalesce(
        nullif(current_setting('request.jwt.claim.sub', true), ''),
        auth.jwt() ->> 'sub'
    )::uuid
$$;

create function auth.role() returns text language sql stable as $$
    select coalesce(
        nullif(current_setting('request.jwt.claim.role', true), ''),
        auth.jwt() ->> 'role'
    )
$$;

create schema storage;
grant usage on schema storage to postgres, anon, authenticated, service_role;

create table storage.buckets (
    id text primary key,
    name text not null unique,
    public boolean not null default false
);
alter table storage.buckets enable row level security;

-- What the API exposes: the advisors read it, and without it many of them pass
-- whatever they are shown.
do $$
begin
    execute format('alter database %I set pgrst.db_schemas to %L', current_database(), 'public, graphql_public');
end
$$;
