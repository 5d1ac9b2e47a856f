-- What happens when an effect fails, asks to wait, or meets an error that means "try again".
begin;
set search_path = public, extensions;
\ir support.psql
select plan(62);

create schema app;
create table app.knob (errcode text, message text);
create table app.effects (event_id text);

-- An effect that does its work and then, while the knob says so, fails.
create function app.effect(event jsonb) returns void language plpgsql set search_path = '' as $$
declare
    v_knob record;
begin
    insert into app.effects values (event ->> 'id');
    perform paidonce.enqueue(event, 'email.receipt', '{"to": "a@example.com"}');
    select * into v_knob from app.knob;
    if found then
        raise exception '%', v_knob.message using errcode = v_knob.errcode;
    end if;
end
$$;
create function app.last(event jsonb) returns void language plpgsql set search_path = '' as $$
begin
    insert into app.effects values (event ->> 'id');
end
$$;
do $$
begin
    perform paidonce.on('customer.*', 'app.effect(jsonb)'), paidonce.on('customer.*', 'app.last(jsonb)');
end
$$;

create function spec.about(id text) returns jsonb language sql immutable as $$
    select event('evt_' || id, 'customer.subscription.created', subscription('sub_' || id, 'cus_' || id, 'active'))
$$;

-- failed

insert into app.knob values ('AB123', 'the printer is on fire');
select is(
    handle_stripe_event(about('1')),
    '{"outcome": "failed", "event_id": "evt_1", "event_type": "customer.subscription.created", "attempt": 1,
      "error": "the printer is on fire", "sqlstate": "AB123"}',
    'given an effect that raises, when an event is delivered, then the answer says failed, and why');
select results_eq('select status, attempts, error, sqlstate, processed_at, payload from paidonce.events',
    'select ''failed'', 1, ''the printer is on fire'', ''AB123'', null::timestamptz, about(''1'')',
    'given a failed event, when its row is read, then the event is kept with the reason');
select matches((select context from paidonce.events), 'app\.effect\(jsonb\) line \d+ at RAISE',
    'given a failed event, when its row is read, then it says where it failed');
select results_eq('select outcome, error, source from paidonce.deliveries', $$values ('failed', 'the printer is on fire', 'webhook')$$,
    'given a failed event, when the delivery log is read, then the arrival is in it, with the reason');
select is_empty('select event_id from app.effects',
    'given a failed event, when its effect is looked for, then it is undone');
select is_empty('select subscription_id from paidonce.subscriptions union all select item_id from paidonce.subscription_items',
    'given a failed event, when the built-in effect is looked for, then it is undone too');
select is_empty('select id from paidonce.outbox',
    'given a failed event, when the outbox is read, then nothing is sent');
select results_eq('select customer_id, user_id, as_of, data from paidonce.customers',
    $$values ('cus_1', null::text, null::timestamptz, null::jsonb)$$,
    'given a failed event, when its customer is looked for, then there is the lock and no information');

update app.knob set message = 'still on fire';
select is(handle_stripe_event(about('1')) - 'event_id' - 'event_type', '{"outcome": "failed", "attempt": 2, "error": "still on fire", "sqlstate": "AB123"}',
    'given a failed event, when it is delivered again, then it is tried again');
select is((select error from paidonce.events), 'still on fire',
    'given a second failure, when the row is read, then it has the last reason');

delete from app.knob;
select is(handle_stripe_event(about('1')) - 'event_id' - 'event_type', '{"outcome": "processed", "attempt": 3}',
    'given a failed event, when the fault is gone and it is delivered again, then it is processed');
select results_eq('select status, attempts, error, sqlstate, context, processed_at is not null from paidonce.events',
    $$values ('processed', 3, null::text, null::text, null::text, true)$$,
    'given that event, when its row is read, then the reason is gone');
select results_eq('select (select count(*) from app.effects), (select count(*) from paidonce.subscriptions), (select count(*) from paidonce.outbox where action = ''email.receipt'')',
    'values (2::bigint, 1::bigint, 1::bigint)',
    'given that event, when its effects are counted, then each is there once');
select is(outcome(about('1')), 'duplicate',
    'given that event, when it is delivered once more, then it is a duplicate');
select results_eq('select outcome, error from paidonce.deliveries order by delivery_id', $$values
    ('failed', 'the printer is on fire'), ('failed', 'still on fire'), ('processed', null), ('duplicate', null)$$,
    'given that story, when the delivery log is read, then it tells it');

-- every way to fail

create function app.no_assertion(event jsonb) returns void language plpgsql set search_path = '' as $$ begin assert false, 'it should not be'; end $$;
create function app.divides_by_zero(event jsonb) returns void language plpgsql set search_path = '' as $$ begin perform 1 / 0; end $$;
create function app.asks_a_missing_table(event jsonb) returns void language plpgsql set search_path = '' as $$ begin perform from app.missing; end $$;
create function app.commits(event jsonb) returns void language plpgsql set search_path = '' as $$ begin commit; end $$;
create function app.never_ends(event jsonb) returns void language plpgsql set search_path = '' as $$ begin perform app.never_ends(event); end $$;
create function app.plain_sql(event jsonb) returns void language sql set search_path = '' as $$ insert into app.effects select (event ->> 'id')::integer::text $$;
create function app.acts_as_anon(event jsonb) returns void language plpgsql set search_path = '' as $$ begin set local role anon; end $$;

create function spec.failing(type text, handler text) returns jsonb language plpgsql volatile as $$
begin
    perform paidonce.on(type, handler::regprocedure);
    return public.handle_stripe_event(event('evt_' || type, type, customer('cus_f'))) - 'error' - 'event_id' - 'event_type';
end
$$;
select is(failing(v.type, v.handler), jsonb_build_object('outcome', 'failed', 'attempt', 1, 'sqlstate', v.state),
    format('given an effect that %s, when its event is delivered, then the event is kept as failed', v.does))
from (values
    ('an.assertion', 'app.no_assertion(jsonb)', 'P0004', 'asserts what is not so'),
    ('a.division', 'app.divides_by_zero(jsonb)', '22012', 'divides by zero'),
    ('a.table', 'app.asks_a_missing_table(jsonb)', '42P01', 'reads a table that is not there'),
    ('a.commit', 'app.commits(jsonb)', '2D000', 'tries to commit on its own'),
    ('a.loop', 'app.never_ends(jsonb)', '54001', 'calls itself for ever'),
    ('a.cast', 'app.plain_sql(jsonb)', '22P02', 'is plain SQL and meets a bad value'),
    ('a.role', 'app.acts_as_anon(jsonb)', '42501', 'tries to act as another role')
) as v (type, handler, state, does);
select is((select count(*) from paidonce.events as e join paidonce.deliveries as d using (event_id) where e.event_id ~ '^evt_an?\.' and e.status = 'failed'
        and e.error is not null and e.context is not null and d.outcome = 'failed' and d.error = e.error), 7::bigint,
    'given all of those, when their rows are read, then each says what and where');

savepoint effect_of_ours;
create function app.refuse() returns trigger language plpgsql as $$ begin raise exception 'no more subscriptions'; end $$;
create trigger refuse before insert on paidonce.subscriptions for each row execute function app.refuse();
select is(handle_stripe_event(about('2')) ->> 'error', 'no more subscriptions',
    'given a built-in effect that raises, when its event is delivered, then the event is kept as failed');
select is_empty('select event_id from app.effects where event_id = ''evt_2'' union all select event_id from paidonce.outbox where event_id = ''evt_2''',
    'given that event, when its effects are looked for, then there is none');
drop trigger refuse on paidonce.subscriptions;
select is(handle_stripe_event(about('2')) - 'event_id' - 'event_type', '{"outcome": "processed", "attempt": 2}',
    'given that event, when the fault is gone and it is delivered again, then it is processed');
select is((select count(*) from app.effects where event_id = 'evt_2'), 2::bigint,
    'given that event, when its effects are counted, then each is there once');
rollback to effect_of_ours;

-- deferred constraints

create table app.parents (id text primary key);
create table app.children (
    parent_id text,
    constraint a_child_has_a_parent foreign key (parent_id) references app.parents deferrable initially deferred
);
create function app.child(event jsonb) returns void language plpgsql set search_path = '' as $$
begin
    insert into app.children values (event ->> 'id');
end
$$;
create function app.parent(event jsonb) returns void language plpgsql set search_path = '' as $$
begin
    insert into app.parents values (event ->> 'id');
end
$$;
do $$
begin
    perform paidonce.on('a.child', 'app.child(jsonb)'), paidonce.on('a.family', 'app.child(jsonb)'), paidonce.on('a.family', 'app.parent(jsonb)');
end
$$;
select is(handle_stripe_event(event('evt_child', 'a.child', '{}')) ->> 'sqlstate', '23503',
    'given an effect that violates a deferred constraint, when its event is delivered, then the event is kept as failed: nothing blows up at the commit');
select is_empty('select parent_id from app.children',
    'given that event, when its effect is looked for, then it is undone');
select is(outcome(event('evt_family', 'a.family', '{}')), 'processed',
    'given effects that satisfy a deferred constraint together, when their event is delivered, then it is processed');
select is(outcome(event('evt_family_2', 'a.family', '{}')), 'processed',
    'given such an event, when another follows in the same transaction, then it is processed too');
select lives_ok($$insert into app.children values ('p'); insert into app.parents values ('p')$$,
    'given such an event, when the caller goes on in the same transaction, then its constraints are as deferred as before');
set constraints all immediate;
set constraints all deferred;

create function app.wait_for_user(event jsonb) returns void language plpgsql set search_path = '' as $$
begin
    if not exists (select from paidonce.customers as c where c.customer_id = event #>> '{data,object,customer}' and c.user_id is not null) then
        raise exception 'no user yet' using errcode = 'PO404';
    end if;
    insert into app.effects values (event ->> 'id');
    if event #>> '{data,object,id}' = 'qt_orphan' then
        perform app.child(event);
    end if;
end
$$;
do $$
begin
    perform paidonce.on('quote.accepted', 'app.wait_for_user(jsonb)'),
        paidonce.on('checkout.session.completed', 'app.child(jsonb)'), paidonce.on('checkout.session.completed', 'app.parent(jsonb)');
end
$$;
select is(outcome(event('evt_waits', 'quote.accepted', quote('qt_w', 'cus_w'))), 'parked',
    'given an event that waits for its user');
select is(handle_stripe_event(event('evt_links', 'checkout.session.completed', checkout('cs_w', 'cus_w', '{"client_reference_id": "u1"}'))) - 'event_id' - 'event_type',
    '{"outcome": "processed", "attempt": 1}',
    'when the event that links them has effects which rely on a deferred constraint, then running the one leaves the other''s constraints deferred');
call run_due();
select is((select status from paidonce.events where event_id = 'evt_waits'), 'processed',
    'and the one that waited is processed');
select is(outcome(event('evt_orphan', 'quote.accepted', quote('qt_orphan', 'cus_o'))), 'parked',
    'given an event that waits for its user, and whose effect will violate a deferred constraint');
select is(outcome(event('evt_links_2', 'checkout.session.completed', checkout('cs_o', 'cus_o', '{"client_reference_id": "u1"}'))), 'processed',
    'when the event that links them is delivered, then it is processed all the same');
call run_due();
select results_eq('select status, sqlstate from paidonce.events where event_id = ''evt_orphan''', $$values ('failed', '23503')$$,
    'and the one that waited is kept as failed');

-- try again

create temp table before (contents jsonb) on commit drop;
insert into before select contents();
create function spec.retryable(state text) returns text language plpgsql volatile as $$
begin
    delete from app.knob;
    insert into app.knob values (state, 'not now');
    begin
        perform handle_stripe_event(about('9'));
        return fail(format('given an effect that meets %s, when its event is delivered, then the caller is told to try again', state));
    exception
        when query_canceled or others then
            return is(sqlstate, state, format('given an effect that meets %s, when its event is delivered, then the caller is told to try again', state));
    end;
end
$$;
select retryable(s) from unnest(array['40001', '40P01', '40000', '55P03', '57014', '53200', '53100', '53300']) as s;
select is(contents(), (select b.contents from before as b),
    'given all of those, when every table is read, then nothing was written');
delete from app.knob;
select is(handle_stripe_event(about('9')) - 'event_id' - 'event_type', '{"outcome": "processed", "attempt": 1}',
    'given all of those, when the event is delivered again, then it is as new');
select is((select count(*) from app.effects where event_id = 'evt_9'), 2::bigint,
    'given that event, when its effects are counted, then each is there once');
select ok((select config @> '{lock_timeout=3s}' from functions where proname = 'handle_stripe_event'),
    'given a lock held by someone else, when an event waits for it, then not longer than Stripe does');

-- parked

insert into app.knob values ('PO404', 'who is this?');
select is(handle_stripe_event(about('3')),
    '{"outcome": "parked", "event_id": "evt_3", "event_type": "customer.subscription.created", "attempt": 1}',
    'given an effect that asks to wait, when its event is delivered, then the answer says parked');
select results_eq('select status, attempts, error, sqlstate, context, processed_at from paidonce.events where event_id = ''evt_3''',
    $$values ('parked', 1, 'who is this?', 'PO404', null::text, null::timestamptz)$$,
    'given a parked event, when its row is read, then it says what it waits for');
select is_empty('select event_id from app.effects where event_id = ''evt_3'' union all select event_id from paidonce.outbox where event_id = ''evt_3''
    union all select subscription_id from paidonce.subscriptions where subscription_id = ''sub_3''',
    'given a parked event, when its effects are looked for, then there is none');
select results_eq('select outcome, error from paidonce.deliveries where event_id = ''evt_3''', $$values ('parked', 'who is this?')$$,
    'given a parked event, when the delivery log is read, then it says what it waits for');
select is(handle_stripe_event(about('3')) - 'event_id' - 'event_type', '{"outcome": "parked", "attempt": 2}',
    'given a parked event, when it is delivered again too early, then it stays parked');
update app.knob set errcode = 'AB123';
select is(handle_stripe_event(about('3')) ->> 'outcome', 'failed',
    'given a parked event, when it fails at its next delivery, then it is failed');
delete from app.knob;
select is(handle_stripe_event(about('3')) - 'event_id' - 'event_type', '{"outcome": "processed", "attempt": 4}',
    'given a parked event, when what it waits for has come, then its next delivery is processed');
insert into app.knob values ('AB123', 'no');
select is(outcome(about('4')), 'failed', 'given a failed event, when its effect is taken off');
do $$
begin
    perform paidonce.off('customer.*', 'app.effect(jsonb)');
end
$$;
select is(outcome(about('4')), 'processed',
    'and it is delivered again, then the rest is processed');
do $$
begin
    perform paidonce.on('some.type', 'app.effect(jsonb)');
end
$$;
select is(outcome(event('evt_5', 'some.type', '{}')), 'failed', 'given a failed event of a type that has no other effect, when its effect is taken off');
do $$
begin
    perform paidonce.off('some.type', 'app.effect(jsonb)');
end
$$;
select is(outcome(event('evt_5', 'some.type', '{}')), 'ignored',
    'and it is delivered again, then it is ignored');
select results_eq('select error, sqlstate, context from paidonce.events where event_id = ''evt_5''',
    $$values ('no handler for some.type', null::text, null::text)$$,
    'given that event, when its row is read, then it says why it is ignored, and no more why it failed');

select * from finish();
rollback;
