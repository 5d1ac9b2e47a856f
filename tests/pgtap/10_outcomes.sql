-- What handle_stripe_event answers and keeps: processed, duplicate, ignored, and what is no event at all.
begin;
set search_path = public, extensions;
\ir support.psql
select plan(86);

-- processed

select is(
    handle_stripe_event(event('evt_1', 'customer.created', customer('cus_1'))),
    '{"outcome": "processed", "event_id": "evt_1", "event_type": "customer.created", "attempt": 1}',
    'given a new event, when it is delivered, then the answer says processed, and nothing else');
select results_eq(
    $$select event_type, object_id, customer_id, account, livemode, api_version, created, status, attempts, repaired, error, sqlstate, context
      from paidonce.events$$,
    $$values ('customer.created', 'cus_1', 'cus_1', null::text, false, '2024-06-20', '2023-11-14 22:13:20+00'::timestamptz, 'processed', 1, 0,
        null::text, null::text, null::text)$$,
    'given that event, when its row is read, then it states what Stripe states');
select is((select payload from paidonce.events), event('evt_1', 'customer.created', customer('cus_1')),
    'given that event, when its payload is read, then it is the whole event');
select ok((select received_at <= processed_at and processed_at <= clock_timestamp() and received_at > clock_timestamp() - interval '1 minute' from paidonce.events),
    'given that event, when its times are read, then they are now');
select results_eq('select event_id, outcome, source, error, duration_ms between 0 and 60000, received_at from paidonce.deliveries',
    'select ''evt_1'', ''processed'', ''webhook'', null::text, true, received_at from paidonce.events',
    'given that event, when the delivery log is read, then the arrival is in it');
select is((select email from paidonce.customers), 'a@example.com',
    'given that event, when its effect is looked for, then it is there');

-- duplicate

create temp table before on commit drop as select contents('deliveries') as all;
select is(
    handle_stripe_event(event('evt_1', 'customer.created', customer('cus_1'))),
    '{"outcome": "duplicate", "event_id": "evt_1", "event_type": "customer.created", "attempt": 1}',
    'given a processed event, when it is delivered again, then the answer says duplicate');
select is(outcome(event('evt_1', 'customer.created', customer('cus_1', '{"email": "b@example.com"}'))), 'duplicate',
    'given a processed event, when it comes with another body, then it is a duplicate all the same');
select is(outcome(event('evt_1', 'customer.deleted', customer('cus_1'))), 'duplicate',
    'given a processed event, when it comes with another type, then it is a duplicate all the same');
select is(contents('deliveries'), (select b.all from before as b),
    'given those duplicates, when every table is read, then none has changed');
select results_eq('select outcome, count(*) from paidonce.deliveries group by outcome order by outcome',
    'values (''duplicate'', 3::bigint), (''processed'', 1::bigint)',
    'given those duplicates, when the delivery log is read, then each arrival is in it');
select is(outcome(event('evt_2', 'customer.created', customer('cus_1'))), 'processed',
    'given two events for one change, when the second is delivered, then it is an event of its own');
select results_eq('select count(*), (select count(*) from paidonce.customers) from paidonce.events', 'values (2::bigint, 1::bigint)',
    'given two events for one change, when both are processed, then there are two events and one customer');

-- rolled back from outside

savepoint delivery;
select is(outcome(event('evt_3', 'customer.created', customer('cus_3'))), 'processed',
    'given an event, when its transaction is rolled back');
rollback to delivery;
select is(handle_stripe_event(event('evt_3', 'customer.created', customer('cus_3'))) ->> 'attempt', '1',
    'and it is delivered again, then it is as new');

-- ignored

select is(
    handle_stripe_event(event('evt_10', 'balance.available', '{"object": "balance"}')),
    '{"outcome": "ignored", "event_id": "evt_10", "event_type": "balance.available", "attempt": 1}',
    'given a type nobody handles, when it is delivered, then the answer says ignored');
select results_eq('select status, error, processed_at, object_id, customer_id, attempts from paidonce.events where event_id = ''evt_10''',
    $$values ('ignored', 'no handler for balance.available', null::timestamptz, null::text, null::text, 1)$$,
    'given an ignored event, when its row is read, then it says why, and the event is kept');
select results_eq('select outcome, error from paidonce.deliveries where event_id = ''evt_10''',
    $$values ('ignored', 'no handler for balance.available')$$,
    'given an ignored event, when the delivery log is read, then it says why');
select is_empty('select id from paidonce.outbox where event_id = ''evt_10''',
    'given an ignored event, when the outbox is read, then nothing was asked for');
select is(
    handle_stripe_event(event('evt_10', 'balance.available', '{"object": "balance"}')),
    '{"outcome": "duplicate", "event_id": "evt_10", "event_type": "balance.available", "attempt": 1}',
    'given an ignored event, when it comes again and nothing has changed, then it is a duplicate');
select is(outcome(event('evt_11', 'quote.accepted', quote('qt_1', 'cus_11'))), 'ignored',
    'given an event of a customer we do not know, when nobody handles its type, then it is ignored');
select is_empty('select customer_id from paidonce.customers where customer_id = ''cus_11''',
    'given an ignored event, when its customer is looked for, then nothing was made of it');

create schema app;
create function app.note(event jsonb) returns void language plpgsql set search_path = '' as $$
begin
    perform paidonce.enqueue(event, 'note', '{}');
end
$$;
create function app.handle(event_type text, handler text) returns setof text language plpgsql as $$
begin
    perform paidonce.on(event_type, handler::regprocedure);
end
$$;
select app.handle('balance.available', 'app.note(jsonb)');

select is(
    handle_stripe_event(event('evt_10', 'balance.available', '{"object": "balance"}')),
    '{"outcome": "processed", "event_id": "evt_10", "event_type": "balance.available", "attempt": 2}',
    'given an ignored event, when an effect is registered for its type and it comes again, then it is processed');
select results_eq('select status, attempts, error, processed_at is not null from paidonce.events where event_id = ''evt_10''',
    $$values ('processed', 2, null::text, true)$$,
    'given that event, when its row is read, then the reason is gone');
select results_eq('select event_id, action from paidonce.outbox where event_id = ''evt_10''', $$values ('evt_10', 'note')$$,
    'given that event, when the outbox is read, then its action is there once');

-- ignored by the settings

select is(outcome(event('evt_20', 'customer.created', customer('cus_20'), '{"livemode": true}')), 'processed',
    'given no livemode set, when a live event comes, then it is taken');
select is(outcome(event('evt_21', 'customer.created', customer('cus_21')) - 'livemode'), 'processed',
    'given no livemode set, when an event says nothing of its mode, then it is taken');
select is((select livemode from paidonce.events where event_id = 'evt_21'), null,
    'given an event that says nothing of its mode, when its row is read, then nothing is made up');

update paidonce.settings set livemode = true;
select is(outcome(event('evt_22', 'customer.created', customer('cus_22'))), 'ignored',
    'given a live installation, when a test event comes, then it is ignored');
select is((select error from paidonce.events where event_id = 'evt_22'), 'livemode is false, this installation accepts true',
    'given a live installation, when a test event was ignored, then its row says why');
select is(outcome(event('evt_23', 'customer.created', customer('cus_22')) - 'livemode'), 'ignored',
    'given a live installation, when an event says nothing of its mode, then it is ignored');
select is((select error from paidonce.events where event_id = 'evt_23'), 'livemode is missing, this installation accepts true',
    'given a live installation, when an event that says nothing of its mode was ignored, then its row says why');
select is(outcome(event('evt_24', 'customer.created', customer('cus_22'), '{"livemode": "true"}')), 'ignored',
    'given a live installation, when livemode is no boolean, then the event is ignored');
select is(outcome(event('evt_25', 'customer.created', customer('cus_25'), '{"livemode": true}')), 'processed',
    'given a live installation, when a live event comes, then it is taken');
update paidonce.settings set livemode = false;
select is(outcome(event('evt_26', 'customer.created', customer('cus_22'), '{"livemode": true}')), 'ignored',
    'given a test installation, when a live event comes, then it is ignored');
select is_empty('select customer_id from paidonce.customers where customer_id = ''cus_22''',
    'given events of the wrong mode, when their customer is looked for, then nothing was made of it');
select is(handle_stripe_event(event('evt_22', 'customer.created', customer('cus_22'))) - 'event_id' - 'event_type', '{"outcome": "processed", "attempt": 2}',
    'given an event ignored for its mode, when the mode is changed and it comes again, then it is processed');
select is(outcome(event('evt_25', 'customer.created', customer('cus_25'), '{"livemode": true}')), 'duplicate',
    'given a processed event, when the mode is changed and it comes again, then it is a duplicate');
update paidonce.settings set livemode = null;

select is(outcome(event('evt_30', 'customer.created', customer('cus_30'), '{"account": "acct_1"}')), 'processed',
    'given no account set, when an event of a connected account comes, then it is taken');
select results_eq('select account from paidonce.events where event_id = ''evt_30'' union all select account from paidonce.customers where customer_id = ''cus_30''',
    array['acct_1', 'acct_1'], 'given that event, when its rows are read, then they name the account');
update paidonce.settings set account = 'acct_2';
select is(outcome(event('evt_31', 'customer.created', customer('cus_31'), '{"account": "acct_1"}')), 'ignored',
    'given one account set, when an event of another comes, then it is ignored');
select is(outcome(event('evt_32', 'customer.created', customer('cus_31'))), 'ignored',
    'given one account set, when an event of the platform itself comes, then it is ignored');
select results_eq('select error from paidonce.events where event_id in (''evt_31'', ''evt_32'') order by event_id',
    array['account is acct_1, this installation accepts acct_2', 'account is missing, this installation accepts acct_2'],
    'given events ignored for their account, when their rows are read, then they say why');
select is(outcome(event('evt_33', 'customer.created', customer('cus_33'), '{"account": "acct_2"}')), 'processed',
    'given one account set, when an event of that account comes, then it is taken');
update paidonce.settings set account = null;

-- what the caller adds, and what it is not

select is(outcome(event('evt_40', 'customer.created', customer('cus_40'), '{"paidonce": {"repaired": 3}}')), 'processed',
    'given an event with characters replaced, when it is delivered, then it is processed');
select results_eq('select repaired, payload from paidonce.events where event_id = ''evt_40''',
    'select 3, event(''evt_40'', ''customer.created'', customer(''cus_40''))',
    'given that event, when its row is read, then it says how many, and the payload is Stripe''s again');
select is(outcome(event('evt_41', n.type, customer('cus_41')) || jsonb_build_object('paidonce', n.note)), n.outcome,
    format('given a note that is %s, when an event is delivered, then it does no harm', n.note))
from (values ('customer.created', 'null'::jsonb, 'processed'), ('customer.created', '[]', 'duplicate'), ('customer.created', '"x"', 'duplicate'),
    ('customer.created', '{}', 'duplicate'), ('customer.created', '{"force": false}', 'duplicate')) as n (type, note, outcome);
select is((select payload ? 'paidonce' from paidonce.events where event_id = 'evt_41'), false,
    'given any note, when the payload is read, then the note is not in it');
select is(outcome(event('evt_42', 'customer.created', customer('cus_42')) || '{"extra": [1], "data": {"object": {"id": "cus_42", "object": "customer"}, "more": 1}, "created": "x", "api_version": null}'), 'processed',
    'given an event of a shape to come, when it is delivered, then what is not understood is kept and does no harm');
select is(outcome(event(repeat('e', 255), repeat('t', 255), '{}')), 'ignored',
    'given an id and a type as long as allowed, when the event is delivered, then it is taken');

-- no event

update before set "all" = contents();
select throws_ok(format('select handle_stripe_event(%L)', v.value), 'PO400', null,
    format('given %s, when it is delivered, then it is refused as no event', v.name))
from (values
    ('null', null::jsonb), ('JSON null', 'null'), ('a number', '1'), ('a string', '"evt_1"'), ('true', 'true'), ('an array', '[]'),
    ('an event in an array', jsonb_build_array(event('evt_x', 'a', '{}'))), ('an empty object', '{}'),
    ('only the kit''s note', '{"paidonce": {}}'),
    ('no id', event('evt_x', 'a', '{}') - 'id'), ('no type', event('evt_x', 'a', '{}') - 'type'),
    ('no data', event('evt_x', 'a', '{}') - 'data'), ('no data.object', event('evt_x', 'a', '{}', '{"data": {}}')),
    ('an id that is null', event('evt_x', 'a', '{}', '{"id": null}')), ('an id that is a number', event('evt_x', 'a', '{}', '{"id": 1}')),
    ('an empty id', event('', 'a', '{}')), ('an id too long', event(repeat('e', 256), 'a', '{}')),
    ('a type that is an array', event('evt_x', 'a', '{}', '{"type": ["a"]}')), ('an empty type', event('evt_x', '', '{}')),
    ('a type too long', event('evt_x', repeat('t', 256), '{}')),
    ('data that is an array', event('evt_x', 'a', '{}', '{"data": [{"object": {}}]}')),
    ('data.object that is a string', event('evt_x', 'a', '"cus_1"')), ('data.object that is null', event('evt_x', 'a', 'null')),
    ('data.object that is an array', event('evt_x', 'a', '[]')),
    ('a thin event without an id', '{"object": "v2.core.event", "type": "v1.customer.created", "related_object": {"id": "cus_1", "type": "customer"}}')
) as v (name, value);
select is(contents(), (select b.all from before as b),
    'given all of those, when every table is read, then nothing was written');

-- thin events

create temp table thin on commit drop as select '{
    "id": "evt_thin", "object": "v2.core.event", "type": "v1.customer.updated", "created": "2026-10-01T10:00:00.250Z", "livemode": false,
    "context": "acct_1", "related_object": {"id": "cus_thin", "type": "customer", "url": "/v1/customers/cus_thin"}, "snapshot_event": "evt_fat"
}'::jsonb as event;
select is(outcome(t.event), 'processed', 'given a thin event of a kept object, when it is delivered, then it is processed') from thin as t;
select is(outcome(t.event), 'duplicate', 'given a thin event, when it is delivered again, then it is a duplicate') from thin as t;
select results_eq($$select object_id, customer_id, account, created from paidonce.events where event_id = 'evt_thin'$$,
    $$values ('cus_thin', 'cus_thin', 'acct_1', '2026-10-01 10:00:00.25+00'::timestamptz)$$,
    'given a thin event, when its row is read, then it states what the event is about');
select results_eq($$select payload from paidonce.outbox where event_id = 'evt_thin'$$,
    $$values ('{"object": "customer", "id": "cus_thin", "account": "acct_1"}'::jsonb)$$,
    'given a thin event, when the outbox is read, then it asks for the object, once');
select is(outcome(t.event || '{"id": "evt_meter", "type": "v1.billing.meter.updated", "related_object": {"id": "mtr_1", "type": "billing.meter"}}'), 'processed',
    'given a thin event of an object that is not kept, when it is delivered, then it has no effect') from thin as t;
select is_empty($$select id from paidonce.outbox where event_id = 'evt_meter'$$, 'given that event, when the outbox is read, then nothing is asked for');

select * from finish();
rollback;
