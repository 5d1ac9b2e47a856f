-- What is kept of every Stripe object, whatever its type: whose statement holds, and that statement.

create table if not exists paidonce.objects (
    as_of timestamptz,
    generation bigint not null default 0,
    as_of_rank bigint,
    is_final boolean not null default false,
    livemode boolean,
    account text,
    source_event text,
    rivals text[] not null default '{}',
    data jsonb,
    constraint objects_spoken_of_have_a_rank check (as_of_rank is not null or generation = 0)
);

comment on table paidonce.objects is 'What the tables of objects have in common; each inherits from it and adds its typed columns. Holds no rows itself; reading it reads all of them.';
comment on column paidonce.objects.as_of is 'Stripe''s time of the information in this row (UTC); null while nothing but the id is known.';
comment on column paidonce.objects.generation is 'Counts every event that spoke of the object; guards a refetch against what arrived meanwhile.';
comment on column paidonce.objects.as_of_rank is 'Rank of the source among those of one second: see paidonce.rank_of; null while nothing but the id is known.';
comment on column paidonce.objects.is_final is 'The object is in a state that no event leaves: see paidonce.is_final.';
comment on column paidonce.objects.livemode is 'Stripe''s livemode of the object.';
comment on column paidonce.objects.account is 'Connected account it belongs to; null for the platform''s own.';
comment on column paidonce.objects.source_event is 'The event whose information this is; null after a refetch.';
comment on column paidonce.objects.rivals is 'Events of the same second and rank that had to be told apart.';
comment on column paidonce.objects.data is 'The whole object as last stated.';

alter table paidonce.objects enable row level security;
drop policy if exists "only the owner reads objects" on paidonce.objects;
create policy "only the owner reads objects" on paidonce.objects for all to public using (false);
call paidonce.only_grant('select', 'table paidonce.objects', variadic '{}');

-- Purpose:   finish a table of objects: what PostgreSQL does not inherit, comments and compression of the common columns.
-- Arguments: relation, a table that inherits from paidonce.objects.
-- Raises:    whatever ALTER TABLE raises. A server without lz4 goes on without it.
-- Locks:     the table, exclusively.
create or replace procedure paidonce.finish_objects(relation text)
language plpgsql
security invoker
set search_path = ''
as $$
declare
    v_column pg_catalog.record;
begin
    for v_column in
        select a.attname, pg_catalog.col_description(a.attrelid, a.attnum) as description
        from pg_catalog.pg_attribute as a
        where a.attrelid = 'paidonce.objects'::pg_catalog.regclass and a.attnum > 0 and not a.attisdropped
    loop
        execute pg_catalog.format('comment on column %s.%I is %L', relation, v_column.attname, v_column.description);
    end loop;
    begin
        execute pg_catalog.format('alter table %s alter column data set compression lz4', relation);
    exception
        when feature_not_supported then
            null;
    end;
end
$$;
comment on procedure paidonce.finish_objects(text) is
    'Gives a table that inherits from paidonce.objects what is not inherited: the comments and the compression of the common columns.';
revoke all on procedure paidonce.finish_objects(text) from public;
call paidonce.only_grant('execute', 'procedure paidonce.finish_objects(text)', variadic '{}');
