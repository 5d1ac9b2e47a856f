-- The entry point runs with its owner's rights. Whoever may call it must not be able to slip it code of their own: a temporary schema
-- is searched first for types, also under an empty search path. This file comes to the entry point first in its session, since a
-- function looks its types up when it is first run.
begin;
set search_path = public, extensions;
\ir support.psql
select plan(6);

create schema app;
create function app.wait(event jsonb) returns void language plpgsql set search_path = '' as $$
begin
    if not exists (select from paidonce.customers as c where c.customer_id = event #>> '{data,object,customer}' and c.user_id is not null) then
        raise exception 'no user yet' using errcode = 'PO404';
    end if;
    perform paidonce.enqueue(event, 'email.receipt', '{}');
end
$$;
create function app.fail(event jsonb) returns void language plpgsql set search_path = '' as $$
begin
    raise exception 'no';
end
$$;
do $$
begin
    perform paidonce.on('quote.accepted', 'app.wait(jsonb)'), paidonce.on('quote.canceled', 'app.fail(jsonb)');
end
$$;
insert into paidonce.credit_entries (user_id, amount, kind, source_key) values ('u9', 5, 'grant', 'a gift');

-- The attack: a domain in pg_temp for every type there is, with a check that notes whose rights it runs with.
set local role paidonce_edge;
create temp table seized (by_role name, type_name text) on commit drop;
grant insert on seized to public;
create function pg_temp.seize(type_name pg_catalog.text) returns boolean language plpgsql as $$
begin
    insert into pg_temp.seized values (current_user, type_name);
    return true;
end
$$;
do $$
declare
    v_type pg_catalog.name;
begin
    for v_type in
        select t.typname from pg_catalog.pg_type as t
        where t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace and t.typtype in ('b', 'r') and t.typelem = 0
    loop
        execute format('create domain pg_temp.%I as pg_catalog.%1$I check (pg_temp.seize(%1$L))', v_type);
    end loop;
end
$$;
create temp table answers (nr serial, answer pg_catalog.jsonb) on commit drop;
insert into answers (answer)
select public.handle_stripe_event(e.event)
from (values
    ('{"id": "evt_1", "type": "customer.created", "created": 1, "livemode": true, "data": {"object": {"id": "cus_1", "object": "customer"}}}'::pg_catalog.jsonb),
    ('{"id": "evt_2", "type": "quote.accepted", "created": 1, "data": {"object": {"id": "qt_1", "customer": "cus_1"}}}'),
    ('{"id": "evt_3", "type": "quote.canceled", "data": {"object": {"id": "qt_1", "customer": "cus_1"}}}'),
    ('{"id": "evt_4", "type": "balance.available", "data": {"object": {}}}'),
    ('{"id": "evt_5", "type": "customer.subscription.created", "data": {"object": {"id": "sub_1", "customer": "cus_1", "status": "active",
        "cancel_at_period_end": true, "items": {"data": [{"id": "si_1", "quantity": 1, "price": {"id": "price_1", "product": "prod_1"}, "current_period_end": 5}]}}}}'),
    ('{"id": "evt_6", "type": "checkout.session.completed", "data": {"object": {"id": "cs_1", "customer": "cus_1", "metadata": {"user_id": "u1"}}}}'),
    ('{"id": "evt_6", "type": "checkout.session.completed", "paidonce": {"force": true}, "data": {"object": {"id": "cs_1", "customer": "cus_1", "client_reference_id": "u2"}}}')
) as e (event);
reset role;
set local role service_role;
do $$
begin
    perform paidonce.link_customer('cus_9', 'u9'), paidonce.link_customer('cus_9', 'u8');
    perform from paidonce.why_access('u1', 'x');
    perform paidonce.spend_credits('u9', 1, 'key');
end
$$;
reset role;
set local role paidonce_edge;

-- pgTAP would fall for it too: the types have to go before it is asked anything.
create temp table types on commit drop as
    select t.typname from pg_catalog.pg_type as t where t.typnamespace = pg_my_temp_schema() and t.typtype = 'd';
do $$
declare
    v_type pg_catalog.name;
begin
    for v_type in select t.typname from pg_temp.types as t loop
        execute format('drop domain pg_temp.%I', v_type);
    end loop;
end
$$;
reset role;

select results_eq('select answer ->> ''outcome'' from answers order by nr',
    array['processed', 'failed', 'failed', 'ignored', 'processed', 'processed', 'processed'],
    'given a caller with types of its own, when it hands events in, then the built-in effects run as ever');
select results_eq('select event_id, status, sqlstate from paidonce.events where event_id in (''evt_2'', ''evt_3'') order by 1',
    'values (''evt_2'', ''failed'', ''42501''), (''evt_3'', ''failed'', ''42501'')',
    'given that caller, when an event has an effect of the user''s own, which may declare any type, then it is not run');
select results_eq('select event_id, action from paidonce.outbox', 'values (''evt_5'', ''stripe.refetch'')',
    'given that caller, when effects ask for actions, then those of the built-in ones are written as ever');
select is((select count(*) from paidonce.link_conflicts), 2::bigint,
    'given that caller, when links contradict each other, then that is kept as ever');
select cmp_ok((select count(*) from types where typname in ('text', 'jsonb', 'timestamptz', 'bool', 'int4', 'int8')), '=', 6::bigint,
    'given that caller, when its temporary schema is looked at, then types stand there under the names of built-in ones');
select is_empty('select distinct by_role, type_name from seized where by_role not in (''paidonce_edge'', ''service_role'')',
    'given that caller, when a function runs with its owner''s rights, then no code of the caller''s does');

select * from finish();
rollback;
