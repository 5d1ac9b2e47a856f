-- Running a stored event again, by hand.
begin;
set search_path = public, extensions;
\ir support.psql
select plan(32);

create schema app;
create table app.knob (errcode text);
create table app.effects (event jsonb);
create function app.effect(event jsonb) returns void language plpgsql set search_path = '' as $$
begin
    insert into app.effects values (event);
    perform paidonce.enqueue(event, 'email.receipt', '{}');
    if exists (select from app.knob) then
        raise exception 'no' using errcode = (select k.errcode from app.knob as k);
    end if;
end
$$;
do $$
begin
    perform paidonce.on('quote.accepted', 'app.effect(jsonb)');
end
$$;

select throws_ok('select paidonce.replay(''evt_1'')', 'P0002', 'no event evt_1 is stored',
    'given an id we never saw, when it is replayed, then that is an error');
select throws_ok('select paidonce.replay(null)', 'P0002', 'no event null is stored',
    'given no id, when it is replayed, then that is an error');

insert into app.knob values ('AB123');
select is(outcome(event('evt_1', 'quote.accepted', quote('qt_1', 'cus_1'), '{"paidonce": {"repaired": 2}}')), 'failed',
    'given a failed event');
delete from app.knob;
select is(paidonce.replay('evt_1'), '{"outcome": "processed", "event_id": "evt_1", "event_type": "quote.accepted", "attempt": 2}',
    'when it is replayed after the fix, then it is processed');
select results_eq('select event from app.effects', $$select event('evt_1', 'quote.accepted', quote('qt_1', 'cus_1'))$$,
    'and its effect was given the event as Stripe sent it');
select results_eq('select outcome, source from paidonce.deliveries order by delivery_id', $$values ('failed', 'webhook'), ('processed', 'replay')$$,
    'and the delivery log says that it was replayed');
select results_eq('select repaired, payload from paidonce.events', $$select 2, event('evt_1', 'quote.accepted', quote('qt_1', 'cus_1'))$$,
    'and the payload and its mark are as they were');

create temp table before on commit drop as select contents('deliveries') as all;
select is(paidonce.replay('evt_1'), '{"outcome": "duplicate", "event_id": "evt_1", "event_type": "quote.accepted", "attempt": 2}',
    'given a processed event, when it is replayed, then the answer says that it was applied already');
select is(paidonce.replay('evt_1', false) ->> 'outcome', 'duplicate',
    'given a processed event, when it is replayed without force, then the same');
select is(paidonce.replay('evt_1', null) ->> 'outcome', 'duplicate',
    'given a processed event, when it is replayed with a force of null, then the same');
select is(contents('deliveries'), (select b.all from before as b),
    'given those replays, when every table is read, then none has changed');
select is((select count(*) from app.effects), 1::bigint,
    'given those replays, when its effects are counted, then there is one');

select is(paidonce.replay('evt_1', force => true), '{"outcome": "processed", "event_id": "evt_1", "event_type": "quote.accepted", "attempt": 3}',
    'given a processed event, when it is replayed by force, then it runs once more');
select is((select count(*) from app.effects), 2::bigint,
    'given that replay, when its effects are counted, then there is one more');
select is((select count(*) from paidonce.outbox), 1::bigint,
    'given that replay, when the outbox is read, then the key has kept the action from being asked for twice');
select is(paidonce.replay('evt_1') ->> 'outcome', 'duplicate',
    'given that replay, when another follows without force, then it is a duplicate again');

-- A forced run that comes to nothing changes nothing: what the first run did stands, and the row has to go on saying so.
create function spec.forced(change text) returns text language plpgsql volatile as $$
declare
    v_error text;
begin
    execute change;
    begin
        return 'replayed: ' || (paidonce.replay('evt_1', force => true))::text;
    exception
        when others then
            v_error := sqlstate || ' ' || sqlerrm;
            return v_error || ', then ' || e.status || ', then ' || (public.handle_stripe_event(e.payload) ->> 'outcome')
                from paidonce.events as e where e.event_id = 'evt_1' and e.processed_at is not null and e.attempts = 3;
    end;
end
$$;
savepoint forced;
select is(forced('insert into app.knob values (''AB123'')'), 'AB123 the forced replay of evt_1 ended in "failed": no, then processed, then duplicate',
    'given a processed event, when a replay by force fails, then it says so, the event stays processed, and Stripe''s next delivery is a duplicate');
rollback to forced;
select is(forced('insert into app.knob values (''PO404'')'), '55000 the forced replay of evt_1 ended in "parked": no, then processed, then duplicate',
    'given a processed event, when a replay by force asks to wait, then it says so, and the event stays processed');
rollback to forced;
select is(forced('update paidonce.settings set livemode = true'),
    '55000 the forced replay of evt_1 ended in "ignored": livemode is false, this installation accepts true, then processed, then duplicate',
    'given a processed event, when it is replayed by force and is not for this installation any more, then it says so, and stays processed');
rollback to forced;
select is(forced('select paidonce.off(''quote.accepted'', ''app.effect(jsonb)'')'), '55000 the forced replay of evt_1 ended in "ignored": no handler for quote.accepted, then processed, then duplicate',
    'given a processed event, when it is replayed by force and has no effect any more, then it says so, and stays processed');
rollback to forced;

select is(outcome(event('evt_2', 'balance.available', '{}')), 'ignored', 'given an ignored event');
select is(paidonce.replay('evt_2') ->> 'outcome', 'duplicate', 'when it is replayed and nothing has changed, then nothing happens');
do $$
begin
    perform paidonce.on('balance.available', 'app.effect(jsonb)');
end
$$;
select is(paidonce.replay('evt_2') ->> 'outcome', 'processed', 'when it is replayed after an effect was registered, then it is processed');

insert into app.knob values ('PO404');
select is(outcome(event('evt_3', 'quote.accepted', quote('qt_3', 'cus_3'))), 'parked', 'given a parked event');
select is(paidonce.replay('evt_3') ->> 'outcome', 'parked', 'when it is replayed too early, then it stays parked');
delete from app.knob;
select is(paidonce.replay('evt_3') - 'event_id' - 'event_type', '{"outcome": "processed", "attempt": 3}', 'when it is replayed later, then it is processed');

update paidonce.settings set livemode = true;
select is(outcome(event('evt_4', 'quote.accepted', quote('qt_4', 'cus_4'))), 'ignored', 'given an event of the wrong mode');
select is(paidonce.replay('evt_4', force => true) ->> 'outcome', 'ignored', 'when it is replayed by force, then the settings still hold');
update paidonce.settings set livemode = null;
select is(paidonce.replay('evt_4') ->> 'outcome', 'processed', 'when it is replayed after the setting changed, then it is processed');

select is(outcome(event('evt_5', 'quote.accepted', quote('qt_5', 'cus_5'), '{"created": 1000000000}')), 'processed',
    'given an event from years ago, when it is handed in, then its age does not matter');
update paidonce.events set status = 'failed', processed_at = null, error = 'x', sqlstate = 'XX000' where event_id = 'evt_5';
select is(paidonce.replay('evt_5') ->> 'outcome', 'processed',
    'given a failed event from years ago, when it is replayed, then its age does not matter');
select results_eq('select source, count(*) from paidonce.deliveries group by source order by source',
    $$values ('replay', (select count(*) from paidonce.deliveries where source = 'replay')), ('webhook', 5::bigint)$$,
    'given all of those, when the delivery log is read, then replays and Stripe''s deliveries are told apart');

select * from finish();
rollback;
