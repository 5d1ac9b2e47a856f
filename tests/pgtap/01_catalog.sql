-- What the catalog says about every relation and function of the kit. No list of names: what is added later is held to the same.
begin;
set search_path = public, extensions;
\ir support.psql
select plan(23);

select cmp_ok((select count(*) from relations where kind = 'r'), '>=', 9::bigint,
    'given the kit, when the catalog is walked, then its tables are seen');
select cmp_ok((select count(*) from functions), '>=', 35::bigint,
    'given the kit, when the catalog is walked, then its functions are seen');

-- Row level security

select is_empty('select name from relations where kind in (''r'', ''p'') and not rls',
    'given any table, when it is created, then row level security is on');
select is_empty('select r.name from relations as r where r.kind in (''r'', ''p'') and not exists (select from pg_policy where polrelid = r.oid)',
    'given any table, when row level security is on, then a policy says who reads what');
select is_empty('select name from relations where kind = ''v'' and coalesce(not options @> ''{security_invoker=true}'', true)',
    'given any view, when it is read, then it is read with the rights of its reader');
select is_empty('select name from relations where kind in (''m'', ''f'')',
    'given row level security, when data is kept, then never where policies do not reach');
select is_empty($$
    select tablename, policyname from pg_policies
    where schemaname = 'paidonce' and 'true' in (qual, with_check)
$$, 'given any policy, when it lets rows through, then never simply all of them');
select is_empty($$
    select p.tablename, p.policyname
    from pg_policies as p
    join relations as r on r.name = p.tablename
    where p.schemaname = 'paidonce' and p.qual is distinct from 'false'
        and not has_any_column_privilege('authenticated', r.oid, 'select') and not has_any_column_privilege('anon', r.oid, 'select')
$$, 'given a private table, when a policy is read, then it lets nothing through, even after a grant by mistake');
select is_empty($$
    select tablename, policyname from pg_policies where schemaname = 'paidonce' and qual is distinct from 'false' and cmd <> 'SELECT'
$$, 'given any policy, when it lets rows through, then only for reading');

-- Functions

select is_empty($$select name from functions where coalesce(not config @> '{"search_path=\"\""}', true)$$,
    'given any function, when it runs, then its search path is empty');
select set_eq('select name from functions where definer', array['handle_stripe_event(jsonb)',
        'paidonce.link_customer(text,text)', 'paidonce.spend_credits(text,bigint,text)', 'paidonce.why_access(text,text)',
        'paidonce.claim_outbox(integer,interval,text[])', 'paidonce.settle_outbox(jsonb)', 'paidonce.outbox_backlog()', 'paidonce.generation_of(text,text)',
        'paidonce.apply_snapshot(jsonb,timestamp with time zone,bigint)', 'paidonce.run_due(integer)'],
    'given all functions, when one runs with its owner''s rights, then it is the entry point or one that a server or worker calls');
select is_empty($$
    select f.name, r.name from functions as f, (select name from roles union all select 'public') as r
    where f.definer and r.name not in ('service_role', 'paidonce_edge', 'paidonce_worker') and has_function_privilege(r.name, f.oid, 'execute')
$$, 'given a function that runs with its owner''s rights, when its grants are walked, then only servers may execute it');
select is_empty($$
    select f.name from functions as f where f.volatility <> 'v' and f.source ~* '\y(insert\s+into|update\s+paidonce|delete\s+from|for\s+update|nextval|setval|pg_advisory)'
$$, 'given a function that writes or locks, when it is declared, then as volatile');
select is_empty($$
    select f.name, r.name from functions as f join relations as r on f.source ~ ('paidonce\.' || r.name || '\y') where f.volatility = 'i'
$$, 'given a function that reads a table, when it is declared, then not as immutable');
select is_empty($$
    select f.name, callee.name
    from functions as f
    join functions as callee on f.source ~ ('(paidonce|public)\.' || callee.proname || '\s*\(')
    where (f.volatility = 'i' and callee.volatility <> 'i') or (f.volatility = 's' and callee.volatility = 'v')
$$, 'given a function that calls another, when it is declared, then it promises no more than that one');
select is((select string_agg(volatility, '') from functions where proname = 'handle_stripe_event'), 'v',
    'given the entry point, when it waited for a twin, then it sees what the twin committed: it is volatile');

-- The entry point's signature

select results_eq(
    'select p.pronamespace::regnamespace::text, p.proargtypes::regtype[]::text, p.proargnames::text, p.prorettype::regtype::text
     from pg_proc as p where p.proname = ''handle_stripe_event''',
    $$values ('public', '[0:0]={jsonb}', null, 'jsonb')$$,
    'given PostgREST, when it looks for the entry point, then it finds one, with one unnamed jsonb');

-- Names, comments, indexes, owner

select is_empty($$
    select r.name, a.attname
    from relations as r
    join pg_attribute as a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
    where r.kind <> 'S' and col_description(r.oid, a.attnum) is null
$$, 'given any column, when someone reads the schema, then a comment explains it');
select is_empty($$
    select name from relations where kind <> 'S' and obj_description(oid, 'pg_class') is null
    union all
    select name from functions where obj_description(oid, 'pg_proc') is null
$$, 'given any table, view, function or procedure, when someone reads the schema, then a comment explains it');
-- Keys keep the names Postgres would give them; a check's says what it holds. Not null constraints have names only since Postgres 18.
select is_empty($$
    select r.name, c.conname
    from pg_constraint as c
    join relations as r on r.oid = c.conrelid
    where c.contype not in ('n', 't') and (c.conname ~ '_(pkey|fkey)\d+$' or c.conname ~ ('^' || concat_ws('_', r.name, (
        select '(' || string_agg(a.attname, '_' order by array_position(c.conkey, a.attnum)) || ')?' from pg_attribute as a where a.attrelid = r.oid and a.attnum = any (c.conkey)
    )) || '_?(check|key|excl)\d*$'))
$$, 'given any constraint, when it is violated, then its name says what was wrong');
select is_empty($$
    select c.conrelid::regclass, c.conname
    from pg_constraint as c
    where c.contype = 'f' and c.connamespace = 'paidonce'::regnamespace and not exists (
        select from pg_index as i
        where i.indrelid = c.conrelid and i.indpred is null
            and c.conkey::int[] <@ (i.indkey::int[])[0:cardinality(c.conkey) - 1]
    )
$$, 'given any foreign key, when what it refers to changes, then an index finds the rows');
select is_empty($$
    select name from relations where owner <> (select nspowner from pg_namespace where nspname = 'paidonce')
    union all
    select name from functions where owner <> (select nspowner from pg_namespace where nspname = 'paidonce')
$$, 'given any object, when its owner is asked for, then it is the schema''s owner');
select is((select bool_or(r.rolsuper) from pg_roles as r join functions as f on f.owner = r.oid), false,
    'given any function, when it runs with its owner''s rights, then these are not a superuser''s');

select * from finish();
rollback;
