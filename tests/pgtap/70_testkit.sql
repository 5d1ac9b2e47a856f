-- The test kit: every event it builds is one that paidonce takes, and every API version's shape reads the same.
begin;
set search_path = public, extensions;
\ir support.psql
\ir ../kit/paidonce_test.sql
set local timezone = 'UTC';
select no_plan();

-- The newest version of each shape, from the first to the last.
create table spec.versions as
select v.version from unnest(array['2014-09-08', '2015-02-18', '2016-07-06', '2017-05-25', '2018-02-28', '2018-11-08', '2019-03-14', '2020-08-27', '2022-11-15',
    '2024-06-20', '2025-02-24.acacia', '2025-03-31.basil', '2025-06-30.basil', '2025-11-17.clover', '2026-03-25.dahlia', '2026-11-18.endive']) as v (version);

create table spec.types as
select t.type from unnest(array['customer.created', 'customer.updated', 'customer.deleted', 'customer.subscription.created', 'customer.subscription.updated',
    'customer.subscription.deleted', 'customer.subscription.paused', 'customer.subscription.resumed', 'customer.subscription.trial_will_end',
    'checkout.session.completed', 'checkout.session.expired', 'checkout.session.async_payment_succeeded', 'checkout.session.async_payment_failed',
    'invoice.created', 'invoice.finalized', 'invoice.paid', 'invoice.payment_succeeded', 'invoice.payment_failed', 'invoice.voided', 'invoice.marked_uncollectible',
    'invoice_payment.paid', 'payment_intent.created', 'payment_intent.succeeded', 'payment_intent.processing', 'payment_intent.canceled',
    'charge.succeeded', 'charge.failed', 'charge.refunded', 'charge.dispute.created', 'charge.dispute.closed', 'refund.created', 'refund.failed', 'charge.refund.updated',
    'price.created', 'product.updated']) as t (type);

-- every type of every version

select is(paidonce_test.deliver(paidonce_test.event(t.type, api_version => v.version)), 'processed',
    format('given %s of %s, when it is delivered, then it is processed', t.type, v.version))
from spec.types as t cross join spec.versions as v;
select is(paidonce_test.deliver(paidonce_test.event('quote.accepted')), 'ignored', 'given a type nobody reads, when it is delivered, then it is ignored');
select is((select count(distinct e.event_id) from paidonce.events as e), (select count(*) from paidonce.events), 'given events, when they are built, then each has an id of its own');
select is_empty('select event_id from paidonce.events as e where e.created <= (select max(b.created) from paidonce.events as b where b.event_id < e.event_id)',
    'given events, when one is built after the other, then it is later as well');

-- one subscription, one invoice, told by every version

select is(paidonce_test.deliver(paidonce_test.event('customer.subscription.created',
    paidonce_test.subscription('sub_' || v.version, 'cus_1', 'active', '{price_a,price_b}', '{"cancel_at_period_end": true}', v.version), v.version)), 'processed',
    format('given a subscription of %s', v.version))
from spec.versions as v;
select results_eq(
    $$select distinct s.status, s.customer_id, extract(epoch from s.current_period_end - s.current_period_start)::integer / 86400, s.cancel_at = s.current_period_end,
        (select string_agg(i.price_id || ' ' || i.product_id || ' ' || i.quantity, ',' order by i.price_id) from paidonce.subscription_items as i where i.subscription_id = s.subscription_id)
      from paidonce.subscriptions as s where s.customer_id = 'cus_1'$$,
    $$values ('active', 'cus_1', 30, true, 'price_a prod_price_a 1,price_b prod_price_b 1')$$,
    'when all are kept, then they are told apart by nothing');
select results_eq(
    $$select distinct jsonb_typeof(e.payload #> '{data,object,current_period_end}'), jsonb_typeof(e.payload #> '{data,object,items,data,0,current_period_end}')
      from paidonce.events as e where e.event_type = 'customer.subscription.created' and e.api_version < '2025-03-31'$$,
    $$values ('number', null::text)$$, 'given a version before 2025-03-31, when a subscription is built, then the period is its own');
select results_eq(
    $$select distinct jsonb_typeof(e.payload #> '{data,object,current_period_end}'), jsonb_typeof(e.payload #> '{data,object,items,data,0,current_period_end}')
      from paidonce.events as e where e.event_type = 'customer.subscription.created' and e.api_version >= '2025-03-31'$$,
    $$values (null::text, 'number')$$, 'given a version since then, when a subscription is built, then the period is its items''');

select is(paidonce_test.deliver(paidonce_test.event('invoice.paid', paidonce_test.invoice('in_' || v.version, 'cus_1', 'paid', 'sub_1', '{price_a,price_b}', 700, '{}', v.version), v.version)), 'processed',
    format('given an invoice of %s', v.version))
from spec.versions as v;
select results_eq(
    $$select distinct n.status, n.subscription_id, n.amount_paid, n.total, n.created is not null,
        (select string_agg(concat_ws(' ', l.price_id, l.product_id, l.subscription_id, l.amount, l.proration), ',' order by l.price_id) from paidonce.invoice_lines as l where l.invoice_id = n.invoice_id)
      from paidonce.invoices as n where n.customer_id = 'cus_1'$$,
    $$values ('paid', 'sub_1', 1400::bigint, 1400::bigint, true, 'price_a prod_price_a sub_1 700 f,price_b prod_price_b sub_1 700 f')$$,
    'when all are kept, then they are told apart by nothing');
select results_eq(
    $$select n.invoice_id, (select count(*) from paidonce.purchase_objects as o where o.purchase_id = p.purchase_id)
      from paidonce.invoices as n join paidonce.purchase_objects as p on p.object_id = n.invoice_id
      where n.invoice_id in ('in_2014-09-08', 'in_2020-08-27', 'in_2025-11-17.clover') order by 1$$,
    $$values ('in_2014-09-08', 2::bigint), ('in_2020-08-27', 3::bigint), ('in_2025-11-17.clover', 1::bigint)$$,
    'when their payments are looked for, then an old one names its charge, a later one its intent as well, and one since 2025-03-31 none');
select is(outcome(paidonce_test.event('invoice.paid', paidonce_test.invoice('in_one_off', 'cus_1', subscription => null, api_version => v.version), v.version, id => 'evt_one_off_' || v.version)), 'processed',
    format('given a one-off invoice of %s, when it is delivered, then it is processed', v.version))
from unnest(array['2014-09-08', '2026-11-18.endive']) as v (version);
select is((select n.subscription_id from paidonce.invoices as n where n.invoice_id = 'in_one_off'), null, 'then it names no subscription');

-- what the caller says

select is(paidonce_test.event('invoice.paid', '{"customer": "cus_9", "amount_paid": 5}') #>> '{data,object,customer}', 'cus_9', 'given fields, when an event is built, then they stand in its object');
select is(paidonce_test.event('invoice.paid', '{"customer": "cus_9"}') #>> '{data,object,status}', 'paid', 'given fields, when an event is built, then the rest is the type''s');
select is(paidonce_test.event('invoice.paid', '{"id": "in_1", "object": "invoice"}') #> '{data,object}', '{"id": "in_1", "object": "invoice"}', 'given a whole object, when an event is built, then it stands as it is');
select is(paidonce_test.event('customer.updated', null) #>> '{data,object,object}', 'customer', 'given no object, when an event is built, then it has one');
select is(paidonce_test.event('a.b', created => '2026-01-02 03:04:05.6+00') -> 'created', to_jsonb(extract(epoch from timestamptz '2026-01-02 03:04:05+00')::bigint), 'given a time, when an event is built, then it is of that second');
select is(paidonce_test.event('a.updated', previous_attributes => '{"status": "x"}') #> '{data,previous_attributes}', '{"status": "x"}', 'given previous attributes, when an event is built, then they are there');
select ok(not paidonce_test.event('a.updated') -> 'data' ? 'previous_attributes', 'given none, when an event is built, then the key is not there');
select is(paidonce_test.event('a.b', id => 'evt_mine', livemode => true, account => 'acct_1') - '{data,created,request,api_version,object,type,pending_webhooks}'::text[],
    '{"id": "evt_mine", "livemode": true, "account": "acct_1"}', 'given id, mode and account, when an event is built, then they are there');
select ok(not paidonce_test.event('a.b') ? 'account', 'given no account, when an event is built, then the key is not there');
select is(jsonb_typeof(paidonce_test.event('a.b', api_version => '2015-02-18') -> 'request'), 'null', 'given an early version, when an event is built, then its request is an id or null');

-- delivering

select is(paidonce_test.deliver(paidonce_test.event('customer.created', id => 'evt_twice')), 'processed', 'given an event, when it is delivered');
select is(paidonce_test.deliver(paidonce_test.event('customer.created', id => 'evt_twice')), 'duplicate', 'and again, then it is a duplicate');

-- where it has no business

select is_empty($$select p.oid::regprocedure from pg_proc as p cross join roles as r where p.pronamespace = 'paidonce_test'::regnamespace and has_function_privilege(r.name, p.oid, 'execute')$$,
    'given the test kit, when the API''s roles look at it, then they may execute none of it');
select is_empty($$select p.oid::regprocedure from pg_proc as p where p.pronamespace = 'paidonce_test'::regnamespace and obj_description(p.oid, 'pg_proc') is null$$,
    'given the test kit, when its functions are listed, then each says what it is for');

select * from finish();
rollback;
