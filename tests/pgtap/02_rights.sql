-- Who may do what, as the catalog grants it and as each role meets it, under the default privileges of a Supabase project.
begin;
set search_path = public, extensions;
\ir support.psql
select plan(46);

-- Everything that could be granted on a relation, and to whom. PUBLIC counts for every role.

create view spec.privileges as
    select 'insert' as name union all select 'update' union all select 'delete'
    union all select 'truncate' union all select 'references' union all select 'trigger';
create view spec.grantees as
    select 'public' as name union all select name from roles;

-- Reading is for the API's roles, row by row. Some columns of two tables of the owner's are read through views.
create view spec.documented_reads as
    select r.name as as_role, v.relation
    from (values ('authenticated'), ('service_role')) as r (name),
        (values ('customers'), ('subscriptions'), ('subscription_items'), ('invoices'), ('invoice_lines'), ('products'), ('prices'),
            ('credit_entries'), ('credit_balances'), ('entitlement_summaries'), ('entitlements'), ('item_features'), ('subscription_access')
        ) as v (relation)
    union all
    select r.name, v.relation
    from (values ('authenticated'), ('service_role')) as r (name), (values ('settings (access_statuses)'), ('price_grants (price_id, feature)')) as v (relation)
    union all
    values ('anon', 'products'), ('anon', 'prices');
create view spec.documented_calls as
    select * from (values ('paidonce_edge', 'handle_stripe_event(jsonb)'), ('service_role', 'handle_stripe_event(jsonb)'),
        ('service_role', 'paidonce.link_customer(text,text)'), ('service_role', 'paidonce.spend_credits(text,bigint,text)'),
        ('service_role', 'paidonce.why_access(text,text)'),
        ('paidonce_worker', 'paidonce.claim_outbox(integer,interval,text[])'), ('paidonce_worker', 'paidonce.settle_outbox(jsonb)'),
        ('paidonce_worker', 'paidonce.outbox_backlog()'), ('paidonce_worker', 'paidonce.generation_of(text,text)'),
        ('paidonce_worker', 'paidonce.apply_snapshot(jsonb,timestamp with time zone,bigint)'),
        ('paidonce_worker', 'paidonce.run_due(integer)'), ('service_role', 'paidonce.run_due(integer)'),
        ('service_role', 'paidonce.has_access(text)'), ('authenticated', 'paidonce.has_access(text)')) as v (as_role, name);

select bag_eq('select name from roles', array['anon', 'authenticated', 'service_role', 'paidonce_edge', 'paidonce_worker'],
    'given a Supabase project, when the kit is installed, then its roles and the kit''s are there');
select is_empty($$
    select g.name, r.name, p.name from grantees as g, relations as r, privileges as p
    where r.kind <> 'S' and has_table_privilege(g.name, r.oid, p.name)
$$, 'given any role, when the tables'' grants are walked, then nobody but the owner writes');
select is_empty($$
    select g.name, r.name, p.name from grantees as g, relations as r, privileges as p
    where r.kind <> 'S' and p.name in ('insert', 'update', 'references') and has_any_column_privilege(g.name, r.oid, p.name)
$$, 'given any role, when the columns'' grants are walked, then nobody but the owner writes');
select is_empty($$
    select g.name, r.name from grantees as g, relations as r
    where r.kind = 'S' and has_sequence_privilege(g.name, r.oid, 'usage, select, update')
$$, 'given any role, when the sequences'' grants are walked, then nobody but the owner uses one');
select set_eq($$
    select g.name || ' ' || r.name || case when has_table_privilege(g.name, r.oid, 'select') then '' else ' (' || (
        select string_agg(a.attname, ', ' order by a.attnum) from pg_attribute as a
        where a.attrelid = r.oid and a.attnum > 0 and has_column_privilege(g.name, r.oid, a.attnum, 'select')) || ')' end
    from grantees as g, relations as r
    where r.kind <> 'S' and has_any_column_privilege(g.name, r.oid, 'select')
$$, 'select as_role || '' '' || relation from documented_reads',
    'given any role, when the grants are walked, then what is documented can be read, and nothing else');
select is_empty($$
    select g.name, f.name from grantees as g, functions as f
    where g.name in ('public', 'anon') and has_function_privilege(g.name, f.oid, 'execute')
$$, 'given PUBLIC and anon, when the functions'' grants are walked, then none can be executed');
select set_eq($$
    select g.name || ' ' || f.name from grantees as g, functions as f where has_function_privilege(g.name, f.oid, 'execute')
$$, 'select as_role || '' '' || name from documented_calls',
    'given any role, when the functions'' grants are walked, then what is documented can be executed, and nothing else');
select is_empty($$
    select f.name from functions as f where f.volatility = 'v' and has_function_privilege('authenticated', f.oid, 'execute')
$$, 'given a signed-in user, when the functions'' grants are walked, then none of those that write can be executed');
select is_empty($$
    select g.name from grantees as g where has_schema_privilege(g.name, 'paidonce', 'create')
$$, 'given any role, when the schema''s grants are walked, then nobody but the owner creates anything in it');
select set_eq($$
    select g.name from grantees as g where has_schema_privilege(g.name, 'paidonce', 'usage')
$$, array['anon', 'authenticated', 'service_role', 'paidonce_worker'],
    'given the schema, when its grants are walked, then those who have business in it may enter, and paidonce_edge not');
select is_empty($$
    select f.name, a.grantee::regrole, a.privilege_type from functions as f
    join pg_proc as p on p.oid = f.oid
    cross join lateral aclexplode(p.proacl) as a
    where a.is_grantable and a.grantee <> f.owner
$$, 'given any grant, when it is made, then it cannot be handed on');

-- The same, tried: every statement that every role could think of

create view spec.statements as
    select r.name, v.verb, v.statement
    from relations as r
    cross join lateral (values
        ('select', format('select * from paidonce.%I', r.name)),
        ('insert', format('insert into paidonce.%I default values', r.name)),
        ('update', format('update paidonce.%I set %I = %2$I', r.name, (
            select a.attname from pg_attribute as a where a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
                and a.attidentity <> 'a' order by a.attnum limit 1))),
        ('delete', format('delete from paidonce.%I', r.name)),
        ('truncate', format('truncate paidonce.%I cascade', r.name)),
        ('lock', format('lock table paidonce.%I in access exclusive mode', r.name)),
        ('drop', format('drop table paidonce.%I cascade', r.name)),
        ('alter', format('alter table paidonce.%I disable row level security', r.name))
    ) as v (verb, statement)
    where r.kind in ('r', 'p') or (r.kind = 'v' and v.verb = 'select')
    union all
    select r.name, 'nextval', format('select nextval(%L)', 'paidonce.' || quote_ident(r.name)) from relations as r where r.kind = 'S'
    union all
    select r.name, 'setval', format('select setval(%L, 1)', 'paidonce.' || quote_ident(r.name)) from relations as r where r.kind = 'S'
    union all
    select f.name, 'execute', format(case f.kind when 'p' then 'call %s(%s)' else 'select %s(%s)' end,
        (select format('%I.%I', n.nspname, p.proname) from pg_proc as p join pg_namespace as n on n.oid = p.pronamespace where p.oid = f.oid),
        (select string_agg(case when f.provariadic <> 0 and a.nr = cardinality(f.proargtypes::oid[]) then 'variadic ' else '' end
            || 'null::' || a.type::regtype, ', ' order by a.nr) from unnest(f.proargtypes::oid[]) with ordinality as a (type, nr)))
    from functions as f;

select cmp_ok((select count(*) from statements), '>', 100::bigint,
    'given the catalog, when statements are made of it, then there are many');
select is_empty('select name, verb, attempt(current_user, statement) from statements where verb in (''select'', ''update'') and attempt(current_user, statement) !~ ''^ok''',
    'given the owner, when those statements are run, then reading and updating succeed: the statements are sound');
create function spec.tried(as_role text, claims jsonb) returns setof text language sql volatile as $$
    select s.verb || ' ' || s.name from statements as s where attempt(as_role, s.statement, claims) <> '42501'
$$;
select set_eq(format('select * from tried(%L, %L)', c.as_role, c.claims), format($$
        select 'select ' || relation from documented_reads where as_role = %L and relation !~ ' '
        union all select 'execute ' || name from documented_calls where as_role = %1$L
    $$, c.as_role),
    format('given %s, when anything is tried on any object, then permission is denied but for what is documented', c.name))
from (values
    ('anon', null::jsonb, 'a visitor'),
    ('anon', '{"role": "anon"}', 'a visitor whose key says so'),
    ('anon', '{"role": "service_role", "sub": "u1"}', 'a visitor who claims to be more'),
    ('authenticated', '{"sub": "u1", "role": "authenticated"}', 'a signed-in user'),
    ('authenticated', '{"sub": "u1", "role": "service_role"}', 'a signed-in user who claims to be more'),
    ('authenticated', null, 'a user without claims'),
    ('service_role', '{"role": "service_role"}', 'the service role'),
    ('paidonce_edge', null, 'paidonce_edge'),
    ('paidonce_worker', null, 'paidonce_worker')
) as c (as_role, claims, name);

-- Own rows

call given(
    event('evt_1', 'checkout.session.completed', checkout('cs_1', 'cus_1', '{"client_reference_id": "u1"}')),
    event('evt_2', 'customer.subscription.created', subscription('sub_1', 'cus_1', 'active')),
    event('evt_3', 'checkout.session.completed', checkout('cs_2', 'cus_2', '{"client_reference_id": "u2"}')),
    event('evt_4', 'customer.subscription.created', subscription('sub_2', 'cus_2', 'active', items(item('si_2', 'price_old'), item('si_3', 'price_new')))),
    event('evt_5', 'customer.subscription.created', subscription('sub_3', 'cus_3', 'active')),
    event('evt_p1', 'price.created', '{"id": "price_new", "object": "price", "active": true, "product": "prod_price_new"}'),
    event('evt_p2', 'price.created', '{"id": "price_old", "object": "price", "active": false, "product": "prod_price_old"}'),
    event('evt_p3', 'product.created', '{"id": "prod_price_new", "object": "product", "active": true}'),
    event('evt_p4', 'product.created', '{"id": "prod_price_old", "object": "product", "active": false}'),
    event('evt_p5', 'product.deleted', '{"id": "prod_gone", "object": "product", "active": true}')
);
insert into paidonce.price_grants (price_id, feature) values ('price_old', 'pro'), ('price_basic', 'basic');
insert into paidonce.credit_entries (user_id, customer_id, amount, kind, source_key) values ('u1', 'cus_1', 5, 'grant', 'x'), ('u2', 'cus_2', 7, 'grant', 'y');

create function spec.seen_by(as_role text, claims text, relation text, key text) returns text
language plpgsql volatile as $$
declare
    v_seen text;
begin
    perform set_config('request.jwt.claims', claims, true), set_config('role', as_role, true);
    execute format('select string_agg(%I::text, '' '' order by %1$I) from paidonce.%I', key, relation) into v_seen;
    perform set_config('role', 'none', true);
    return v_seen;
end
$$;

select is(seen_by('authenticated', '{"sub": "u1"}', 'customers', 'customer_id'), 'cus_1',
    'given users with a customer each, when u1 reads customers, then it is u1''s own');
select is(seen_by('authenticated', '{"sub": "u1"}', 'subscriptions', 'subscription_id'), 'sub_1',
    'given users with a subscription each, when u1 reads subscriptions, then it is u1''s own');
select is(seen_by('authenticated', '{"sub": "u2"}', 'subscription_items', 'item_id'), 'si_2 si_3',
    'given users with items, when u2 reads items, then they are u2''s own');
select is(seen_by('authenticated', '{"sub": "u2"}', v.relation, v.key), v.seen, format('given rows of several users, when u2 reads %s, then they are u2''s own', v.relation))
from (values ('entitlements', 'feature', 'pro'), ('subscription_access', 'subscription_id', 'sub_2'), ('credit_balances', 'balance', '7'), ('credit_entries', 'user_id', 'u2')) as v (relation, key, seen);
select is(seen_by(v.as_role, v.claims, v.relation, v.key), v.seen, format('given prices and products, offered and not, when %s reads %s, then it is %s', v.who, v.relation, v.seen))
from (values
    ('anon', '', 'prices', 'price_id', 'price_new', 'a visitor'), ('anon', '', 'products', 'product_id', 'prod_price_new', 'a visitor'),
    ('authenticated', '{"sub": "u1"}', 'prices', 'price_id', 'price_new', 'a user'), ('authenticated', '{"sub": "u1"}', 'products', 'product_id', 'prod_price_new', 'a user'),
    ('authenticated', '{"sub": "u2"}', 'prices', 'price_id', 'price_new price_old', 'a user who has the old one'),
    ('authenticated', '{"sub": "u2"}', 'products', 'product_id', 'prod_price_new prod_price_old', 'a user who has the old one')
) as v (as_role, claims, relation, key, seen, who);
select is_empty($$
    select r.relation, c.claims
    from (values ('customers', 'customer_id'), ('subscriptions', 'subscription_id'), ('subscription_items', 'item_id'), ('invoices', 'invoice_id'), ('invoice_lines', 'line_id'),
            ('credit_entries', 'user_id'), ('credit_balances', 'balance'), ('entitlement_summaries', 'customer_id'), ('entitlements', 'feature'), ('subscription_access', 'subscription_id'),
            ('item_features', 'feature')) as r (relation, key),
        (values (''), ('{}'), ('{"sub": null}'), ('{"sub": ""}'), ('{"sub": "u3"}'), ('{"sub": ["u1"]}'), ('"u1"'), ('[]'), ('null')) as c (claims)
    where seen_by('authenticated', c.claims, r.relation, r.key) is not null
$$, 'given claims that name no user of ours, when they read, then they see no row, and customers without a user belong to nobody');
select is(seen_by('service_role', '', 'subscriptions', 'subscription_id'), 'sub_1 sub_2 sub_3',
    'given the service role, when it reads subscriptions, then it sees all');
select is_empty($$
    select r.name, attempt('authenticated', format('update paidonce.%I set %I = %2$I', r.name, a.attname), '{"sub": "u1"}')
    from relations as r
    join pg_attribute as a on a.attrelid = r.oid and a.attnum > 0 and a.attidentity <> 'a' and not a.attisdropped
    where r.kind = 'r' and attempt('authenticated', format('update paidonce.%I set %I = %2$I', r.name, a.attname), '{"sub": "u1"}') <> '42501'
$$, 'given a user with rows of their own, when any column of any table is updated, then permission is denied');

-- The entry point, with row level security on

select is(attempt(r.name, $$select public.handle_stripe_event('{"id": "evt_forged", "type": "invoice.paid", "data": {"object": {}}}')$$), '42501',
    format('given a forged event, when %s hands it in, then permission is denied', r.name))
from (values ('anon'), ('authenticated'), ('paidonce_worker')) as r (name);
select is_empty('select event_id from paidonce.events where event_id = ''evt_forged'' union all select event_id from paidonce.deliveries where event_id = ''evt_forged''',
    'given those attempts, when the ledger is read, then nothing was written');

set local role paidonce_edge;
create temp table answer on commit drop as
    select public.handle_stripe_event('{"id": "evt_6", "type": "customer.subscription.created",
        "data": {"object": {"id": "sub_6", "object": "subscription", "customer": "cus_6", "status": "active"}}}') as edge;
reset role;
select is((select edge ->> 'outcome' from answer), 'processed',
    'given row level security on every table, when paidonce_edge hands an event in, then it is processed');
select results_eq('select status, customer_id from paidonce.subscriptions where subscription_id = ''sub_6''', $$values ('active', 'cus_6')$$,
    'given that event, when its effect is looked for, then it is there');
select is(attempt('service_role', $$select public.handle_stripe_event('{"id": "evt_7", "type": "customer.created", "data": {"object": {"id": "cus_7", "object": "customer"}}}')$$), 'ok 1',
    'given the service role, when it hands an event in over the API, then it is taken');
select is(attempt('service_role', $$select paidonce.link_customer('cus_8', 'u8')$$), 'ok 1',
    'given the service role, when it links a customer by hand, then it may');

select * from finish();
rollback;
