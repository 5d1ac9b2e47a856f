-- Registering effects of one's own: paidonce.on and paidonce.off.
begin;
set search_path = public, extensions;
\ir support.psql
select plan(70);

create schema app;
create table app.log (nr serial, effect text, event_id text);
create procedure spec.effect(name text) language plpgsql as $$
begin
    execute format($f$
        create function app.%I(event jsonb) returns void language plpgsql set search_path = '' as $b$
        begin
            insert into app.log (effect, event_id) values (%L, event ->> 'id');
        end
        $b$ $f$, name, name);
end
$$;
call effect('a');
call effect('b');
call effect('c');
create procedure spec.on(event_type text, handler text) language plpgsql as $$
begin
    perform paidonce.on(event_type, handler::regprocedure);
end
$$;
create procedure spec.off(event_type text, handler text) language plpgsql as $$
begin
    perform paidonce.off(event_type, handler::regprocedure);
end
$$;

-- Which effects an event of a type runs, in their order. What they did is undone.
create function spec.runs(type text) returns text language plpgsql volatile as $$
declare
    v_ran text;
begin
    begin
        perform public.handle_stripe_event(event('evt_1', type, customer('cus_1')));
        select coalesce(string_agg(effect, ' ' order by nr), 'nothing') into v_ran from app.log;
        raise exception 'undo' using errcode = 'UNDO0';
    exception
        when sqlstate 'UNDO0' then
            return v_ran;
    end;
end
$$;

-- patterns

call spec.on('invoice.paid', 'app.a(jsonb)');
select is(runs('invoice.paid'), 'a', 'given an effect for one type, when an event of it comes, then the effect runs');
select is(runs(t), 'nothing', format('given an effect for one type, when %s comes, then it does not run', t))
from unnest(array['invoice.payment_failed', 'invoice.paid.x', 'invoice', 'invoice.pai', 'Invoice.Paid', 'invoice_paid', '*', 'invoice.*']) as t;
call spec.on('customer.subscription.*', 'app.b(jsonb)');
select is(runs(t), 'b', format('given an effect for a family, when %s comes, then it runs', t))
from unnest(array['customer.subscription.created', 'customer.subscription.pending_update.applied', 'customer.subscription.*']) as t;
select is(runs(t), 'nothing', format('given an effect for a family, when %s comes, then it does not run', t))
from unnest(array['customer.created', 'customer.subscription', 'customer.subscriptions.created', 'xcustomer.subscription.created', 'customerXsubscription.created']) as t;
call spec.on('some_thing.*', 'app.a(jsonb)');
select is(runs('someXthing.made'), 'nothing', 'given a pattern with an underscore, when it is compared, then that is a letter like others');
call spec.on('*', 'app.c(jsonb)');
select is(runs('foo.bar'), 'c', 'given an effect for every event, when one comes that nobody knows, then it runs');
select is(runs('invoice.paid'), 'a c', 'given effects by type and for every event, when one comes, then both run, in the order of registration');
select is(runs('customer.subscription.created'), 'b c', 'given effects by family and for every event, when one comes, then both run');

-- order

call spec.on('order.test', 'app.c(jsonb)');
call spec.on('order.*', 'app.b(jsonb)');
call spec.on('order.test', 'app.a(jsonb)');
call spec.off('*', 'app.c(jsonb)');
select is(runs('order.test'), 'c b a', 'given effects registered one after the other, when an event comes, then they run in that order, whatever their names and patterns');
update paidonce.handlers set position = -1 where event_type = 'order.test' and function_name = 'app.a';
select is(runs('order.test'), 'a c b', 'given a position that was changed, when an event comes, then it counts');
update paidonce.handlers set position = 7 where event_type ~ '^order';
select is(runs('order.test'), 'a b c', 'given equal positions, when an event comes, then the order is still a fixed one');
call spec.on('order.*', 'app.a(jsonb)');
call spec.on('*', 'app.a(jsonb)');
select is(runs('order.test'), 'a b c', 'given an effect that three patterns name, when an event comes, then it runs once, in its first place');
call spec.off('order.test', 'app.a(jsonb)');
select is(runs('order.test'), 'b c a', 'given that its first place is taken off, when an event comes, then it runs in its next');
delete from paidonce.handlers where event_type ~ '^order' or event_type = '*';

create function app.sees_the_customer(event jsonb) returns void language plpgsql set search_path = '' as $$
begin
    insert into app.log (effect) select c.email from paidonce.customers as c where c.customer_id = event #>> '{data,object,id}';
end
$$;
call spec.on('customer.created', 'app.sees_the_customer(jsonb)');
select is(runs('customer.created'), 'a@example.com', 'given an effect on a type with a built-in one, when it runs, then it sees what the built-in one wrote');

-- off and on again

call spec.on('x.y', 'app.a(jsonb)');
call spec.on('x.y', 'app.b(jsonb)');
call spec.off('x.y', 'app.a(jsonb)');
select is(runs('x.y'), 'b', 'given an effect that was taken off, when an event comes, then it does not run');
call spec.off('x.y', 'app.a(jsonb)');
select is(runs('x.y'), 'b', 'given an effect that was taken off, when it is taken off again, then nothing changes');
call spec.on('x.y', 'app.a(jsonb)');
select is(runs('x.y'), 'a b', 'given an effect that was taken off, when it is registered again, then it has its old place');
call spec.on('x.y', 'app.a(jsonb)');
select is((select count(*) from paidonce.handlers where event_type = 'x.y' and function_name = 'app.a'), 1::bigint,
    'given an effect, when it is registered twice, then it is there once');
call spec.off('x.y', 'app.a(jsonb)');
call spec.off('x.y', 'app.b(jsonb)');
select is(outcome(event('evt_2', 'x.y', '{}')), 'ignored', 'given a type whose effects were all taken off, when an event comes, then it is ignored');
select throws_ok('select paidonce.off(''x.z'', ''app.a(jsonb)'')', 'P0002', 'app.a(jsonb) is not registered for x.z',
    'given an effect that is not registered for a type, when it is taken off, then that is an error');
select throws_ok('select paidonce.off(null, ''app.a(jsonb)'')', 'P0002', null,
    'given no type, when an effect is taken off, then that is an error');

-- what cannot be registered

select throws_ok(format('select paidonce.on(%L, ''app.a(jsonb)'')', t), '22023', null,
    format('given %s for an event type, when an effect is registered, then it is refused', coalesce(to_json(t)::text, 'null')))
from unnest(array[null, '', ' ', 'a.', '.a', 'a..b', '*.a', 'a*', 'a.*.b', 'a.**', '**', 'a.b ', 'a b', 'a-b', 'a%', E'a.b\n', 'ä.b']) as t;

create function app.two(event jsonb, other text default 'x') returns void language sql as '';
create function app.none() returns void language sql as '';
create function app.of_text(event text) returns void language sql as '';
create function app.of_json(event json) returns void language sql as '';
create function app.many(event jsonb) returns setof text language sql as $$select 'x'$$;
create function app.list(variadic events jsonb[]) returns void language sql as '';
create procedure app.proc(event jsonb) language sql as '';
create aggregate app.total(jsonb) (sfunc = jsonb_concat, stype = jsonb);
select throws_ok(format('select paidonce.on(''x.y'', %L)', f), '22023', null,
    format('given %s, when it is registered, then it is refused as no effect', coalesce(f, 'null')))
from unnest(array['app.two(jsonb,text)', 'app.none()', 'app.of_text(text)', 'app.of_json(json)', 'app.many(jsonb)', 'app.list(jsonb[])',
    'app.proc(jsonb)', 'app.total(jsonb)', null, '0']) as f;
select throws_ok('select paidonce.on(''x.y'', ''app.missing(jsonb)'')', '42883', null,
    'given a function that is not there, when it is registered, then that is an error');

-- functions that come and go

call effect('gone');
call spec.on('life.cycle', 'app.gone(jsonb)');
drop function app.gone(jsonb);
select is(handle_stripe_event(event('evt_3', 'life.cycle', '{}')) - 'error', '{"outcome": "failed", "event_id": "evt_3", "event_type": "life.cycle", "attempt": 1, "sqlstate": "42883"}',
    'given an effect whose function was dropped, when an event comes, then it fails, for all to see');
create function app.gone(event jsonb) returns text language sql set search_path = '' as $$
    insert into app.log (effect) values ('anew') returning 'whatever it returns'
$$;
select is(outcome(event('evt_3', 'life.cycle', '{}')), 'processed',
    'given that the function is there again, when the event comes again, then it is processed');
delete from app.log;
select is(runs('life.cycle'), 'anew', 'given that the function is another now, when an event comes, then it is the new one that runs');

create schema "My App";
create table "My App".log (event_id text);
create function "My App"."Send; drop ""it"""(event jsonb) returns void language sql set search_path = '' as $$
    insert into "My App".log values (event ->> 'id')
$$;
call spec.on('quoted.name', '"My App"."Send; drop ""it"""(jsonb)');
select is(outcome(event('evt_4', 'quoted.name', '{}')), 'processed',
    'given an effect whose name has to be quoted, when an event comes, then it is processed');
select results_eq('select event_id from "My App".log', array['evt_4'],
    'given an effect whose name has to be quoted, when an event comes, then it runs');
call spec.off('quoted.name', '"My App"."Send; drop ""it"""(jsonb)');
select is(outcome(event('evt_5', 'quoted.name', '{}')), 'ignored',
    'given an effect whose name has to be quoted, when it is taken off, then it does not run');

-- functions of the same name

create function app.a(event json) returns void language plpgsql as $$ begin raise exception 'the wrong one'; end $$;
create function app.a(event text) returns void language plpgsql as $$ begin raise exception 'the wrong one'; end $$;
select is(runs('invoice.paid'), 'a', 'given other functions of the same name, when an event comes, then the one that was registered runs');

create function app.a(event jsonb, loud boolean default true) returns void language plpgsql as $$ begin raise exception 'the wrong one'; end $$;
select is(handle_stripe_event(event('evt_6', 'invoice.paid', '{}')) ->> 'sqlstate', '42725',
    'given another function that the same call could mean, when an event comes, then it fails, for all to see');

select * from finish();
rollback;
