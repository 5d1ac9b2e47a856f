-- Subscriptions and their items: what is kept of them, in the shapes of every API version.
begin;
set search_path = public, extensions;
\ir support.psql
select plan(53);

create function spec.items_of(id text) returns text language sql stable as $$
    select string_agg(i.item_id || ' ' || coalesce(i.price_id, '-') || ' x' || coalesce(i.quantity::text, '-'), ', ' order by i.item_id)
    from paidonce.subscription_items as i where i.subscription_id = id
$$;
-- A later event of sub_1, each a minute after the one before.
create sequence spec.minutes;
create procedure spec.stated(id text, status text, more jsonb default '{}', type text default 'customer.subscription.updated') language plpgsql as $$
declare
    v_minute constant bigint := nextval('spec.minutes');
begin
    call given(event('evt_s' || v_minute, type, subscription(id, 'cus_' || id, status, more), jsonb_build_object('created', 1700000000 + 60 * v_minute)));
end
$$;

call stated('sub_1', 'active', '{"trial_end": 1700086400, "cancel_at_period_end": false, "cancel_at": null, "canceled_at": null, "ended_at": null, "pause_collection": null}',
    'customer.subscription.created');
select results_eq(
    'select customer_id, status, created, current_period_start, current_period_end, trial_end, cancel_at, canceled_at, ended_at, pause_behavior, as_of, source_event, generation, livemode, account
     from paidonce.subscriptions',
    $$select 'cus_sub_1', 'active', to_timestamp(1690000000), to_timestamp(1700000000), to_timestamp(1702592000), to_timestamp(1700086400),
        null::timestamptz, null::timestamptz, null::timestamptz, null::text, to_timestamp(1700000060), 'evt_s1', 1::bigint, false, null::text$$,
    'given a subscription, when it is stated, then its row says what Stripe says');
select is((select data ->> 'id' from paidonce.subscriptions), 'sub_1', 'given a subscription, when it is stated, then the whole object is kept');
select is(items_of('sub_1'), 'si_1 price_basic x1', 'given a subscription, when it is stated, then its items are there');
select is((select product_id from paidonce.subscription_items), 'prod_price_basic', 'given an item with an expanded price, when it is stated, then its product is known');
select is((select count(*) from paidonce.customers where customer_id = 'cus_sub_1'), 1::bigint, 'given a customer and a price that were never seen, when their subscription is stated, then nothing is missed');

-- items

call stated('sub_1', 'active', items(item('si_1', 'price_pro', '{"quantity": 3}')));
select is(items_of('sub_1'), 'si_1 price_pro x3', 'given an item, when its price and quantity change, then it follows');
call stated('sub_1', 'active', items(item('si_2', 'price_basic')));
select is(items_of('sub_1'), 'si_2 price_basic x1', 'given an item, when another takes its place, then nothing of the first is left');
call stated('sub_1', 'active', items(item('si_3', 'price_b'), item('si_2', 'price_basic'), item('si_1', 'price_a', '{"quantity": null}')));
select is(items_of('sub_1'), 'si_1 price_a x-, si_2 price_basic x1, si_3 price_b x1', 'given several items, when they are stated in any order, then every one is there, a metered one without a quantity');
call stated('sub_2', 'active', items(item('si_1', 'price_z')));
select is(items_of('sub_1') || '; ' || items_of('sub_2'), 'si_1 price_a x-, si_2 price_basic x1, si_3 price_b x1; si_1 price_z x1', 'given two subscriptions, when one is stated, then the items of the other stay');
select is((select count(*) from paidonce.subscriptions), 2::bigint, 'given all those events, when subscriptions are counted, then each has one row');
call stated('sub_1', 'active', '{"items": {"object": "list", "has_more": true, "data": [{"id": "si_9", "price": {"id": "price_9"}, "quantity": 9}]}}');
select is(items_of('sub_1'), 'si_1 price_a x-, si_2 price_basic x1, si_3 price_b x1, si_9 price_9 x9', 'given a list of items that goes on, when it is stated, then those it does not show stay until the refetch');
call stated('sub_1', 'active', '{"items": {"object": "list", "has_more": false, "data": []}}');
select is(items_of('sub_1'), null, 'given a list without items, when it is stated, then none is left');
call stated('sub_1', 'active', items(
    item('si_1', 'price_x', '{"price": "price_x"}'),
    item('si_2', 'price_y', '{"price": null, "plan": {"id": "plan_y", "product": "prod_y"}}'),
    item('si_3', 'p', '{"price": {"id": "price_w", "product": {"id": "prod_w"}}, "plan": {"id": "plan_w"}}')));
select results_eq('select item_id, price_id, product_id from paidonce.subscription_items where subscription_id = ''sub_1'' order by item_id',
    $$values ('si_1', 'price_x', null), ('si_2', 'plan_y', 'prod_y'), ('si_3', 'price_w', 'prod_w')$$,
    'given prices by id, as plans, or expanded, when items are stated, then each is read');

-- the shape of 2014: one plan, no items

call stated('sub_2014', 'active', '{"plan": {"id": "gold", "object": "plan", "amount": 500}, "quantity": 2, "items": null}');
select is(items_of('sub_2014'), 'sub_2014:plan gold x2', 'given a subscription from before items, when it is stated, then its plan is its item');
call stated('sub_2014', 'active', items(item('si_new', 'gold')));
select is(items_of('sub_2014'), 'si_new gold x1', 'given that subscription, when it is stated with items, then they take the plan''s place');

-- the period, in both places

select results_eq(
    format('select current_period_start, current_period_end from paidonce.read_subscription(%L)', s.object), 'select to_timestamp(1700000000), to_timestamp(1702592000)',
    format('given the period %s, when it is read, then it is the same', s.place))
from (values
    ('of the subscription', subscription('sub_1', 'cus_1', 'active')),
    ('of its item', subscription('sub_1', 'cus_1', 'active', items(item('si_1', 'p', '{"current_period_start": 1700000000, "current_period_end": 1702592000}'))) - 'current_period_start' - 'current_period_end'),
    ('of the item that ends first', subscription('sub_1', 'cus_1', 'active', items(item('si_1', 'p', '{"current_period_start": 1690000000, "current_period_end": 1720000000}'),
        item('si_2', 'p', '{"current_period_start": 1700000000, "current_period_end": 1702592000}'), item('si_3', 'p'))) - 'current_period_start' - 'current_period_end')
) as s (place, object);
call given(event('evt_basil', 'customer.subscription.created', subscription('sub_basil', 'cus_basil', 'active',
    items(item('si_1', 'p', '{"current_period_start": 1700000000, "current_period_end": 1702592000}'))) - 'current_period_start' - 'current_period_end'));
select results_eq('select s.current_period_start, s.current_period_end, i.current_period_start, i.current_period_end
    from paidonce.subscriptions as s join paidonce.subscription_items as i using (subscription_id) where subscription_id = ''sub_basil''',
    'select to_timestamp(1700000000), to_timestamp(1702592000), to_timestamp(1700000000), to_timestamp(1702592000)',
    'given a period that only the item has, when the subscription is stated, then both rows have it');

-- scheduled ends

call stated('sub_3', 'active', '{"cancel_at_period_end": false, "cancel_at": 1705000000}');
select results_eq('select status, cancel_at, ended_at from paidonce.subscriptions where subscription_id = ''sub_3''', $$select 'active', to_timestamp(1705000000), null::timestamptz$$,
    'given flexible billing, when the portal sets cancel_at alone, then the end is scheduled, and the subscription active until then');
call stated('sub_3', 'active', '{"cancel_at_period_end": false, "cancel_at": null}');
select is((select cancel_at from paidonce.subscriptions where subscription_id = 'sub_3'), null, 'given a scheduled end, when it is taken back, then none is left');
call stated('sub_3', 'active', '{"cancel_at_period_end": true}');
select is((select cancel_at from paidonce.subscriptions where subscription_id = 'sub_3'), to_timestamp(1702592000), 'given the classic form, when only the flag is set, then the period''s end is the scheduled end');
call stated('sub_3', 'active', '{"cancel_at_period_end": true, "cancel_at": 1702592000}');
select is((select cancel_at from paidonce.subscriptions where subscription_id = 'sub_3'), to_timestamp(1702592000), 'given the flag and cancel_at, when both are set, then that is one scheduled end');
call stated('sub_3', 'active', '{"cancel_at_period_end": false}');
select is((select cancel_at from paidonce.subscriptions where subscription_id = 'sub_3'), null, 'given the classic form, when the flag is taken back, then no end is scheduled');

-- pause

call stated('sub_3', 'active', '{"pause_collection": {"behavior": "void", "resumes_at": null}}');
select results_eq('select status, pause_behavior from paidonce.subscriptions where subscription_id = ''sub_3''', $$values ('active', 'void')$$,
    'given a pause of collection, when it is stated, then it is visible, though the status stays');
call stated('sub_3', 'active', '{"pause_collection": {"behavior": "keep_as_draft"}}');
select is((select pause_behavior from paidonce.subscriptions where subscription_id = 'sub_3'), 'keep_as_draft', 'given a pause of another kind, when it is stated, then that is told apart');
call stated('sub_3', 'active', '{"pause_collection": null}');
select is((select pause_behavior from paidonce.subscriptions where subscription_id = 'sub_3'), null, 'given a pause, when collection resumes, then it is gone');

-- the end

call stated('sub_3', 'canceled', '{"canceled_at": 1700001000, "ended_at": 1700001000}', 'customer.subscription.deleted');
select results_eq('select status, ended_at, canceled_at, current_period_end from paidonce.subscriptions where subscription_id = ''sub_3''',
    $$select 'canceled', to_timestamp(1700001000), to_timestamp(1700001000), to_timestamp(1702592000)$$,
    'given a deletion before the period''s end, when it is stated, then the row is kept, and has ended at once');
select is(items_of('sub_3'), 'si_1 price_basic x1', 'given a deletion, when the items are read, then they are kept');
call stated('sub_4', 'active', '{"customer": "cus_sub_3"}', 'customer.subscription.created');
select results_eq('select subscription_id, status from paidonce.subscriptions where customer_id = ''cus_sub_3'' order by 1', $$values ('sub_3', 'canceled'), ('sub_4', 'active')$$,
    'given a customer whose subscription ended, when a new one begins, then both are there, the new one active');
call stated('sub_5', 'incomplete', '{}', 'customer.subscription.created');
call stated('sub_5', 'incomplete_expired');
call stated('sub_5', 'active');
select is((select status from paidonce.subscriptions where subscription_id = 'sub_5'), 'incomplete_expired', 'given a first payment that never came, when the subscription has expired, then nothing revives it');

-- a notice changes nothing that is newer
call stated('sub_6', 'trialing', '{"trial_end": 1700200000}', 'customer.subscription.created');
call given(event('evt_notice', 'customer.subscription.trial_will_end', subscription('sub_6', 'cus_sub_6', 'trialing', '{"trial_end": 1700200000}')));
select is((select status from paidonce.subscriptions where subscription_id = 'sub_6'), 'trialing', 'given a notice, when it is delivered, then the status stays');

-- customers

call given(event('evt_x1', 'customer.subscription.created', subscription('sub_7', null, 'active', '{"customer": {"id": "cus_7", "object": "customer", "email": "x"}}')));
select results_eq('select s.customer_id, e.customer_id from paidonce.subscriptions as s, paidonce.events as e where s.subscription_id = ''sub_7'' and e.event_id = ''evt_x1''', $$values ('cus_7', 'cus_7')$$,
    'given an expanded customer, when the subscription is stated, then it is the customer''s');
select is((select email from paidonce.customers where customer_id = 'cus_7'), null, 'given an expanded customer, when the subscription is stated, then the customer is not described by that');
select is(outcome(event('evt_x2', 'customer.subscription.created', subscription('sub_8', null, 'active'))), 'processed', 'given no customer, when a subscription is stated, then it is processed');

-- refetch

select results_eq('select idempotency_key, coalesce_key, payload, event_id from paidonce.outbox where payload ->> ''id'' = ''sub_7''',
    $$values ('evt_x1:stripe.refetch:sub_7', 'refetch:sub_7', '{"id": "sub_7", "object": "subscription"}'::jsonb, 'evt_x1')$$,
    'given any subscription event, when it is processed, then Stripe is asked for its present state');
select is((select count(*) from paidonce.outbox where payload ->> 'id' = 'sub_1' and status = 'pending'), 1::bigint,
    'given many events of one subscription, when requests are counted, then one is pending');
update paidonce.outbox set status = 'sent', sent_at = now() where payload ->> 'id' = 'sub_1';
call stated('sub_1', 'active');
select is((select count(*) from paidonce.outbox where payload ->> 'id' = 'sub_1' and status = 'pending'), 1::bigint,
    'given a request that was sent, when another event comes, then there is a new one');
call given(event('evt_x3', 'customer.subscription.updated', subscription('sub_1', 'cus_sub_1', 'active'), '{"account": "acct_1"}'));
select is((select payload from paidonce.outbox where event_id = 'evt_x3'), '{"id": "sub_1", "object": "subscription", "account": "acct_1"}',
    'given a connected account, when its event is processed, then the request names the account');

update paidonce.outbox set status = 'sent', sent_at = now() where payload ->> 'id' = 'sub_7';
select is(paidonce.replay('evt_x1', force => true) ->> 'outcome', 'processed',
    'given an event whose request was sent, when it is replayed by force, then the request''s key is no obstacle');

-- garbage

select is(outcome(event('evt_g' || g.nr, 'customer.subscription.updated', g.object)), 'processed', format('given %s, when a subscription is stated, then nothing breaks', g.name))
from (values
    (1, 'an empty object', '{}'::jsonb),
    (2, 'no id', subscription('sub_g', 'cus_g', 'active') - 'id'),
    (3, 'an id of null', subscription('sub_g', 'cus_g', 'active', '{"id": null}')),
    (4, 'no status', subscription('sub_g4', 'cus_g', 'active') - 'status'),
    (5, 'a status to come', subscription('sub_g5', 'cus_g', 'hibernating')),
    (6, 'times that are no times', subscription('sub_g6', 'cus_g', 'active', '{"current_period_end": 1e300, "current_period_start": "soon", "trial_end": -1, "cancel_at": [], "ended_at": true, "created": 1.5}')),
    (7, 'items that are no items', subscription('sub_g7', 'cus_g', 'active', '{"items": {"data": [null, 1, "si_1", [], {}, {"id": null}, {"id": "si_7", "quantity": "many", "price": []}]}}')),
    (8, 'a list that is none', subscription('sub_g8', 'cus_g', 'active', '{"items": "none", "plan": "gold"}')),
    (9, 'the same item twice', subscription('sub_g9', 'cus_g', 'active', items(item('si_1', 'a'), item('si_1', 'b')))),
    (10, 'a quantity beyond bigint', subscription('sub_g10', 'cus_g', 'active', items(item('si_1', 'a', '{"quantity": 1e30}')))),
    (11, 'a pause that is none', subscription('sub_g11', 'cus_g', 'active', '{"pause_collection": "void", "metadata": "x"}'))
) as g (nr, name, object);
select results_eq('select subscription_id, status from paidonce.subscriptions where customer_id = ''cus_g'' order by subscription_id collate "C"', $$values
    ('sub_g10', 'active'), ('sub_g11', 'active'), ('sub_g4', 'unknown'), ('sub_g5', 'hibernating'), ('sub_g6', 'active'), ('sub_g7', 'active'), ('sub_g8', 'active'), ('sub_g9', 'active')$$,
    'given those, when subscriptions are read, then what has an id is there, with the status it states');
select results_eq('select subscription_id, item_id from paidonce.subscription_items where subscription_id ~ ''^sub_g'' order by subscription_id collate "C", item_id', $$values
    ('sub_g10', 'si_1'), ('sub_g11', 'si_1'), ('sub_g4', 'si_1'), ('sub_g5', 'si_1'), ('sub_g6', 'si_1'), ('sub_g7', 'si_7'), ('sub_g9', 'si_1')$$,
    'given those, when items are read, then what has an id is there');

select * from finish();
rollback;
