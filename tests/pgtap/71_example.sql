-- The example application, tested the way docs/effects.md says an application is: with pgTAP and the test kit.
begin;
set search_path = public, extensions;
\ir support.psql
\ir ../kit/paidonce_test.sql
\ir ../example/app.sql
select plan(27);

create function spec.workspace() returns text language sql stable as $$
    select string_agg(format('%s %s %s %s', w.owner, w.plan, w.seats, case when w.open then 'open' else 'closed' end), ', ' order by w.owner) from app.workspaces as w
$$;
create function spec.letters() returns text language sql stable as $$
    select string_agg(o.action || ' ' || o.idempotency_key, ', ' order by o.idempotency_key) from paidonce.outbox as o where o.action like 'email.%'
$$;
create function spec.sub(type text, status text, fields jsonb default '{}', id text default null) returns jsonb language sql volatile as $$
    select paidonce_test.event('customer.subscription.' || type, paidonce_test.subscription('sub_1', 'cus_1', status, '{price_pro}', fields), id => id)
$$;

-- one that parks

select is(paidonce_test.deliver(sub('created', 'active', id => 'evt_sub')), 'parked', 'given a customer of nobody, when it subscribes, then the event waits');
select is((select e.error from paidonce.events as e where e.event_id = 'evt_sub'), 'the customer of sub_1 belongs to nobody yet', 'then it says why');
select is(workspace(), null, 'then there is no workspace');
select is(letters(), null, 'then nothing is sent');
select is(paidonce_test.deliver(paidonce_test.event('checkout.session.completed', paidonce_test.checkout_session('cs_1', 'cus_1', 'ada', 'subscription'))), 'processed',
    'given its checkout, when it names the user');
call run_due();
select is((select e.status from paidonce.events as e where e.event_id = 'evt_sub'), 'processed', 'then the event has run by itself');
select is(workspace(), 'ada price_pro 1 open', 'then the workspace is open');
select is(letters(), 'email.welcome welcome:sub_1', 'then there is one welcome');

-- absolute, from the tables

select is(paidonce_test.deliver(sub('updated', 'active', '{"items": {"object": "list", "data": [{"id": "si_1", "quantity": 7, "price": {"id": "price_team"}}]}}')), 'processed', 'given another plan');
select is(workspace(), 'ada price_team 7 open', 'then the workspace has it');
select is(letters(), 'email.welcome welcome:sub_1', 'then nobody is welcomed twice');
select is(paidonce_test.deliver(sub('deleted', 'canceled')), 'processed', 'given the end');
select is(workspace(), 'ada none 0 closed', 'then the workspace is closed');
select is(paidonce_test.deliver(paidonce_test.event('customer.subscription.updated', paidonce_test.subscription('sub_1', 'cus_1'), created => '2020-01-01')), 'processed', 'given a late update from before');
select is(workspace(), 'ada none 0 closed', 'then it stays closed: the tables know better than the event');

-- one that enqueues

select is(paidonce_test.deliver(paidonce_test.event(t.type, paidonce_test.invoice('in_1', 'cus_1', api_version => '2024-06-20'), '2024-06-20')), 'processed', format('given %s', t.type))
from unnest(array['invoice.paid', 'invoice.payment_succeeded']) as t (type);
select is(paidonce_test.deliver(paidonce_test.event('charge.succeeded', '{"customer": "cus_1", "invoice": "in_1"}', '2024-06-20')), 'processed', 'given charge.succeeded of the same purchase');
select is(letters(), 'email.receipt receipt:in_1, email.welcome welcome:sub_1', 'then there is one receipt');

-- one that fails

insert into app.books values ('2026-01-01', true);
create temp table refunded on commit drop as
select paidonce_test.event('charge.refunded', '{"id": "ch_9", "customer": "cus_1", "amount_refunded": 400}', created => '2026-01-15', id => 'evt_refunded') as event;
select is(paidonce_test.deliver(r.event), 'failed', 'given closed books, when a refund is booked, then it fails') from refunded as r;
select is((select e.error from paidonce.events as e where e.event_id = 'evt_refunded'), 'the books of 2026-01 are closed', 'then it says why');
select is_empty('select charge_id from app.bookings', 'then nothing of it is left');
select is_empty($$select payment_id from paidonce.payments where payment_id = 'ch_9'$$, 'then nothing of the kit''s own effects either');
select isnt_empty($$select event_id from paidonce.audit as a, paidonce.events as e where a.subject = e.event_id and a.check_name = 'event_failed'$$, 'then the audit lists it');
update app.books set closed = false;
select is(paidonce.replay('evt_refunded') ->> 'outcome', 'processed', 'given open books, when it is replayed, then it is processed');
select results_eq('select charge_id, refunded from app.bookings', $$values ('ch_9', 400::bigint)$$, 'then it is booked');
select is(paidonce_test.deliver(r.event), 'duplicate', 'given it again from Stripe, when it is delivered, then it is a duplicate') from refunded as r;

select * from finish();
rollback;
