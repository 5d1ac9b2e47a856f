-- Customers as Stripe describes them, and as they go.
begin;
set search_path = public, extensions;
\ir support.psql
select plan(19);

call given(event('evt_1', 'customer.subscription.created', subscription('sub_1', 'cus_1', 'active'), '{"account": "acct_1", "livemode": true}'));
select results_eq('select customer_id, user_id, email, deleted, as_of, data, account, livemode from paidonce.customers',
    $$values ('cus_1', null::text, null::text, false, null::timestamptz, null::jsonb, 'acct_1', true)$$,
    'given a customer that only another object names, when that is processed, then its row is there, without a description');
call given(event('evt_2', 'customer.updated', customer('cus_1', '{"email": "b@example.com", "name": "B"}'), '{"created": 1700000100, "account": "acct_1"}'));
select results_eq('select email, name, as_of, data, source_event from paidonce.customers',
    $$select 'b@example.com', 'B', to_timestamp(1700000100), customer('cus_1', '{"email": "b@example.com", "name": "B"}'), 'evt_2'$$,
    'given that row, when Stripe describes the customer, then the description is kept');
call given(event('evt_3', 'customer.created', customer('cus_1', '{"email": "a@example.com"}'), '{"created": 1700000000}'));
select is((select email from paidonce.customers), 'b@example.com', 'given a description, when an older one arrives, then the newer stays');
call given(event('evt_4', 'customer.updated', customer('cus_1', '{"email": null}'), '{"created": 1700000200}'));
select results_eq('select email, name from paidonce.customers', 'values (null::text, null::text)', 'given a description, when a newer one has nothing in a place, then nothing is there');

-- deleted

call given(
    event('evt_10', 'checkout.session.completed', checkout('cs_1', 'cus_10', '{"client_reference_id": "u10"}')),
    event('evt_11', 'customer.subscription.created', subscription('sub_10', 'cus_10', 'active',
        items(item('si_10', 'price_pro', '{"price": {"id": "price_pro", "lookup_key": "pro"}}'))))
);
select results_eq('select user_id, feature from paidonce.entitlements', $$values ('u10', 'pro')$$, 'given a customer with a subscription, when access is asked for, then there is some');
call given(event('evt_12', 'customer.deleted', customer('cus_10'), '{"created": 1700000100}'));
select results_eq('select deleted, user_id from paidonce.customers where customer_id = ''cus_10''', $$values (true, 'u10')$$,
    'given a customer that Stripe deletes, when it is read, then it is kept, marked, and still its user''s');
select is((select status from paidonce.subscriptions where subscription_id = 'sub_10'), 'active',
    'given a customer that Stripe deletes, when its subscription is read, then it is as Stripe last stated it');
select is_empty('select feature from paidonce.entitlements where customer_id = ''cus_10''', 'given a customer that Stripe deletes, when access is asked for, then there is none');
select is(outcome(event(v.id, v.type, v.object, v.more)), 'processed', format('given a deleted customer, when %s comes late, then it is processed', v.type))
from (values
    ('evt_13', 'customer.updated', customer('cus_10'), '{"created": 1700000050}'::jsonb),
    ('evt_14', 'customer.updated', customer('cus_10'), '{"created": 1700000200}'),
    ('evt_15', 'customer.subscription.deleted', subscription('sub_10', 'cus_10', 'canceled'), '{"created": 1700000100}'),
    ('evt_16', 'invoice.paid', '{"id": "in_10", "object": "invoice", "customer": {"id": "cus_10", "object": "customer", "deleted": true}}', '{}')
) as v (id, type, object, more);
select is((select deleted from paidonce.customers where customer_id = 'cus_10'), true, 'given all of those, when the customer is read, then none has revived it');
select is((select customer_id from paidonce.events where event_id = 'evt_16'), 'cus_10', 'given a deleted customer that is expanded, when the event is read, then it names the customer');
call given(event('evt_17', 'customer.deleted', customer('cus_17'), '{"created": 1700000000}'), event('evt_18', 'customer.created', customer('cus_17'), '{"created": 1690000000}'));
select is((select deleted from paidonce.customers where customer_id = 'cus_17'), true, 'given a customer never heard of, when its deletion comes before its creation, then it is deleted');
call given(event('evt_19', 'customer.updated', customer('cus_19', '{"deleted": true}')));
select is((select deleted from paidonce.customers where customer_id = 'cus_19'), true, 'given a customer that says so itself, when any event states it, then it is deleted');
select is(outcome(event('evt_20', 'customer.updated', '{"object": "customer"}')), 'processed', 'given a customer without an id, when it is stated, then there is nothing to keep and nothing fails');

-- the app's user goes

insert into auth.users (id) values ('11111111-1111-1111-1111-111111111111');
call given(
    event('evt_30', 'checkout.session.completed', checkout('cs_30', 'cus_30', '{"client_reference_id": "11111111-1111-1111-1111-111111111111"}')),
    event('evt_31', 'customer.subscription.created', subscription('sub_30', 'cus_30', 'active'))
);
delete from auth.users;
select is(outcome(event('evt_32', 'customer.subscription.deleted', subscription('sub_30', 'cus_30', 'canceled'), '{"created": 1700000100}')), 'processed',
    'given a user that was deleted in the app, when an event of its customer comes, then it is processed');
select results_eq('select (select count(*) from paidonce.events where customer_id = ''cus_30''), (select status from paidonce.subscriptions where subscription_id = ''sub_30''),
    (select user_id from paidonce.customers where customer_id = ''cus_30'')', $$values (3::bigint, 'canceled', '11111111-1111-1111-1111-111111111111')$$,
    'given a user that was deleted in the app, when the ledger is read, then nothing of it went along');

select * from finish();
rollback;
