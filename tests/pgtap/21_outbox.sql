-- Asking for outside actions: paidonce.enqueue and paidonce.enqueue_once.
begin;
set search_path = public, extensions;
\ir support.psql
select plan(35);

create procedure spec.enqueue(event jsonb, action text, payload jsonb, discriminator text default null) language plpgsql as $$
begin
    perform paidonce.enqueue(event, action, payload, discriminator);
end
$$;
create view spec.keys as select idempotency_key as key from paidonce.outbox;

create function spec.e() returns jsonb language sql immutable as $$
    select event('evt_1', 'quote.accepted', quote('qt_1', 'cus_1'))
$$;
call enqueue(e(), 'email.welcome', '{"to": "a@example.com"}');
select results_eq('select event_id, action, payload, idempotency_key, status, attempts, lease_until, lease_token, first_attempt_at, sent_at, response, error from paidonce.outbox',
    $$values ('evt_1', 'email.welcome', '{"to": "a@example.com"}'::jsonb, 'evt_1:email.welcome', 'pending', 0,
        null::timestamptz, null::bigint, null::timestamptz, null::timestamptz, null::jsonb, null::text)$$,
    'given an action, when it is asked for, then a row waits to be sent, under the event''s key');
select ok((select next_attempt_at <= clock_timestamp() and created_at > clock_timestamp() - interval '1 minute' from paidonce.outbox),
    'given that row, when a worker looks for work, then it is due at once');

call enqueue(e(), 'email.welcome', '{"to": "b@example.com"}', 'b');
call enqueue(e(), 'email.welcome', '{"to": "c@example.com"}', 'c:1');
call enqueue(e(), 'email.goodbye', '{}', null);
select set_eq('select key from keys', array['evt_1:email.welcome', 'evt_1:email.welcome:b', 'evt_1:email.welcome:c:1', 'evt_1:email.goodbye'],
    'given several actions of one event, when they are asked for, then each has its key');
call enqueue(e(), 'email.welcome', '{"to": "z@example.com"}');
call enqueue(e(), 'email.welcome', '{"to": "z@example.com"}', 'b');
select is((select count(*) from paidonce.outbox), 4::bigint,
    'given keys that are there, when they are asked for again, then no row comes in addition');
select is((select string_agg(payload ->> 'to', ' ' order by id) from paidonce.outbox where action = 'email.welcome'), 'a@example.com b@example.com c@example.com',
    'given keys that are there, when they are asked for again, then the first payload stays');
update paidonce.outbox set status = 'sent', sent_at = now() where idempotency_key = 'evt_1:email.welcome';
call enqueue(e(), 'email.welcome', '{"to": "z@example.com"}');
select is((select status from paidonce.outbox where idempotency_key = 'evt_1:email.welcome'), 'sent',
    'given an action that was sent, when it is asked for again, then it stays sent');

-- one fact, two events

create procedure spec.enqueue_once(key text, event jsonb, action text, payload jsonb) language plpgsql as $$
begin
    perform paidonce.enqueue_once(key, event, action, payload);
end
$$;
call enqueue_once('receipt:qt_1', event('evt_2', 'quote.accepted', quote('qt_1', 'cus_1')), 'email.receipt', '{"nr": 1}');
call enqueue_once('receipt:qt_1', event('evt_3', 'quote.accepted', quote('qt_1', 'cus_1')), 'email.receipt', '{"nr": 2}');
call enqueue_once('receipt:qt_2', null, 'email.receipt', '{}');
select results_eq('select event_id, payload from paidonce.outbox where idempotency_key = ''receipt:qt_1''', $$values ('evt_2', '{"nr": 1}'::jsonb)$$,
    'given one fact that two events tell, when each asks under a key of the fact, then one row is there, the first');
select is((select event_id from paidonce.outbox where idempotency_key = 'receipt:qt_2'), null,
    'given an action that no event caused, when it is asked for, then its row names none');

-- what is refused

select throws_ok(v.statement, v.state, null, format('given %s, when an action is asked for, then it is refused', v.name))
from (values
    ('no event', '22023', $$select paidonce.enqueue(null, 'a', '{}')$$),
    ('something that is no event', '22023', $$select paidonce.enqueue('{"type": "x"}', 'a', '{}')$$),
    ('an event whose id is null', '22023', $$select paidonce.enqueue('{"id": null}', 'a', '{}')$$),
    ('no action', '22023', $$select paidonce.enqueue('{"id": "evt_9"}', null, '{}')$$),
    ('no payload', '22023', $$select paidonce.enqueue('{"id": "evt_9"}', 'a', null)$$),
    ('no key', '22023', $$select paidonce.enqueue_once(null, null, 'a', '{}')$$),
    ('an empty action', '23514', $$select paidonce.enqueue('{"id": "evt_9"}', '', '{}')$$),
    ('an action with a blank', '23514', $$select paidonce.enqueue('{"id": "evt_9"}', 'send mail', '{}')$$),
    ('an action in capitals', '23514', $$select paidonce.enqueue('{"id": "evt_9"}', 'Email', '{}')$$),
    ('an action that ends in a dot', '23514', $$select paidonce.enqueue('{"id": "evt_9"}', 'email.', '{}')$$),
    ('an action that begins with a dot', '23514', $$select paidonce.enqueue('{"id": "evt_9"}', '.email', '{}')$$),
    ('an action with a line break', '23514', $$select paidonce.enqueue('{"id": "evt_9"}', E'email\nx', '{}')$$),
    ('an action with a colon, which separates keys', '23514', $$select paidonce.enqueue('{"id": "evt_9"}', 'email:x', '{}')$$),
    ('an empty key', '23514', $$select paidonce.enqueue_once('', null, 'a', '{}')$$),
    ('a key too long for a provider', '23514', $$select paidonce.enqueue_once(repeat('k', 256), null, 'a', '{}')$$),
    ('a discriminator that makes the key too long', '23514', $$select paidonce.enqueue('{"id": "evt_9"}', 'a', '{}', repeat('k', 250))$$)
) as v (name, state, statement);
select lives_ok($$select paidonce.enqueue_once(repeat('k', 255), null, 'http.post-it_2.now', '[]')$$,
    'given a key and an action at their limits, when it is asked for, then it is taken');
select is_empty('select id from paidonce.outbox where event_id = ''evt_9''',
    'given all that was refused, when the outbox is read, then it is not there');

-- in an effect

create schema app;
create table app.knob (action text);
insert into app.knob values ('email.ok');
create function app.mail(event jsonb) returns void language plpgsql set search_path = '' as $$
begin
    perform paidonce.enqueue(event, 'email.first', '{}');
    perform paidonce.enqueue(event, (select k.action from app.knob as k), '{}');
end
$$;
do $$
begin
    perform paidonce.on('mail.test', 'app.mail(jsonb)');
end
$$;
update app.knob set action = 'Not An Action';
select is(handle_stripe_event(event('evt_10', 'mail.test', '{}')) ->> 'sqlstate', '23514',
    'given an effect that asks for something not well formed, when its event comes, then the event fails');
select is_empty('select id from paidonce.outbox where event_id = ''evt_10''',
    'given that event, when the outbox is read, then the action it asked for before is not there either');
update app.knob set action = 'email.second';
select is(outcome(event('evt_10', 'mail.test', '{}')), 'processed',
    'given that event, when the effect is corrected and it comes again, then it is processed');
select set_eq('select idempotency_key from paidonce.outbox where event_id = ''evt_10''', array['evt_10:email.first', 'evt_10:email.second'],
    'given that event, when the outbox is read, then each action is there once');
update app.knob set action = 'email.first';
select is(outcome(event('evt_11', 'mail.test', '{}')), 'processed',
    'given an effect that asks for one action twice, when its event comes, then it is processed');
select is((select count(*) from paidonce.outbox where event_id = 'evt_11'), 1::bigint,
    'given that event, when the outbox is read, then the action is there once');

-- a link may run a parked event inside another: each has its own keys
create function app.mail_owner(event jsonb) returns void language plpgsql set search_path = '' as $$
begin
    if (select c.user_id from paidonce.customers as c where c.customer_id = event #>> '{data,object,customer}') is null then
        raise exception 'no user yet' using errcode = 'PO404';
    end if;
    perform paidonce.enqueue(event, 'email.owner', '{}');
end
$$;
do $$
begin
    perform paidonce.on('quote.accepted', 'app.mail_owner(jsonb)'), paidonce.on('checkout.session.completed', 'app.mail_owner(jsonb)');
end
$$;
select is(outcome(event('evt_12', 'quote.accepted', quote('qt_12', 'cus_12'))), 'parked', 'given a parked event');
select is(outcome(event('evt_13', 'checkout.session.completed', checkout('cs_13', 'cus_12', '{"client_reference_id": "u1"}'))), 'processed', 'when another one links its customer');
call run_due();
select set_eq('select event_id || '' '' || idempotency_key from paidonce.outbox where action = ''email.owner''',
    array['evt_12 evt_12:email.owner', 'evt_13 evt_13:email.owner'],
    'then the actions of each are there, under its own key');

select * from finish();
rollback;
