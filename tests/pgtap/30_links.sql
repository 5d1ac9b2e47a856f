-- Whose customer is it: links from checkout, from metadata, by hand; the first wins; what waited for one runs.
begin;
set search_path = public, extensions;
\ir support.psql
select plan(66);

create function spec.owner(id text) returns text language sql stable as $$
    select coalesce(c.user_id, 'nobody') || coalesce(' by ' || c.link_event, '') from paidonce.customers as c where c.customer_id = id
$$;
create function spec.conflicts(id text) returns text language sql stable as $$
    select string_agg(l.user_id || coalesce(' by ' || l.event_id, ''), ', ' order by l.user_id) from paidonce.link_conflicts as l where l.customer_id = id
$$;

-- where a link comes from

call given(
    event('evt_1', 'checkout.session.completed', checkout('cs_1', 'cus_1', '{"client_reference_id": "u1"}')),
    event('evt_2', 'checkout.session.completed', checkout('cs_2', 'cus_2', '{"metadata": {"user_id": "u2"}}')),
    event('evt_3', 'checkout.session.completed', checkout('cs_3', 'cus_3', '{"client_reference_id": "u3", "metadata": {"user_id": "u2"}}')),
    event('evt_4', 'checkout.session.completed', checkout('cs_4', 'cus_4', '{"client_reference_id": "", "metadata": {"user_id": "u4"}}')),
    event('evt_5', 'checkout.session.completed', checkout('cs_5', 'cus_5', '{"client_reference_id": null, "metadata": null}')),
    event('evt_6', 'customer.subscription.created', subscription('sub_6', 'cus_6', 'active', '{"metadata": {"user_id": "u6"}}')),
    event('evt_7', 'customer.created', customer('cus_7', '{"metadata": {"user_id": "u7"}}')),
    event('evt_8', 'customer.updated', customer('cus_8', '{"metadata": {"user_id": 8}}')),
    event('evt_9', 'customer.created', customer('cus_9', '{"metadata": {"user_id": ""}}')),
    event('evt_10', 'customer.created', customer('cus_10', '{"metadata": {"userId": "u10", "other": "x"}}')),
    event('evt_11', 'customer.created', customer('cus_11', '{"metadata": ["user_id"]}')),
    event('evt_12', 'customer.created', customer('cus_12', '{"metadata": {"user_id": null}}')),
    event('evt_13', 'checkout.session.completed', checkout('cs_13', null, '{"customer": {"id": "cus_13", "object": "customer"}, "client_reference_id": "u13"}')),
    event('evt_14', 'checkout.session.async_payment_succeeded', checkout('cs_14', 'cus_14', '{"client_reference_id": "u14"}'))
);
select is(owner('cus_1'), 'u1 by evt_1', 'given a session with a client_reference_id, when it is completed, then its customer is that user''s');
select ok((select linked_at > clock_timestamp() - interval '1 minute' from paidonce.customers where customer_id = 'cus_1'), 'given a link, when it is read, then it says when it was made');
select is(owner('cus_2'), 'u2 by evt_2', 'given a session with metadata, when it is completed, then its customer is that user''s');
select is(owner('cus_3'), 'u3 by evt_3', 'given a session with both, when it is completed, then client_reference_id decides');
select is(conflicts('cus_3'), null, 'given a session with both, when it is completed, then the other is no contradiction');
select is(owner('cus_4'), 'u4 by evt_4', 'given a session with a blank client_reference_id, when it is completed, then metadata decides');
select is(owner('cus_5'), 'nobody', 'given a session with neither, when it is completed, then its customer is nobody''s');
select is(owner('cus_6'), 'u6 by evt_6', 'given a subscription with metadata, when it is created, then its customer is that user''s');
select is(owner('cus_7'), 'u7 by evt_7', 'given a customer with metadata, when it is created, then it is that user''s');
select is(owner('cus_8'), '8 by evt_8', 'given a user id that is a number, when it is read, then it is text');
select is(owner('cus_9'), 'nobody', 'given a blank user id, when it is read, then it names nobody');
select is(owner('cus_10'), 'nobody', 'given metadata with other keys, when it is read, then it names nobody');
select is(owner('cus_11'), 'nobody', 'given metadata that is none, when it is read, then it names nobody');
select is(owner('cus_12'), 'nobody', 'given a user id of null, when it is read, then it names nobody');
select is(owner('cus_13'), 'u13 by evt_13', 'given an expanded customer, when its session is completed, then it is the user''s');
select is(owner('cus_14'), 'u14 by evt_14', 'given a payment that arrives later, when it has, then the session links as well');

update paidonce.settings set user_id_metadata_key = 'app_user';
call given(
    event('evt_15', 'customer.created', customer('cus_15', '{"metadata": {"user_id": "wrong", "app_user": "u15"}}')),
    event('evt_16', 'customer.created', customer('cus_16', '{"metadata": {"user_id": "wrong"}}')),
    event('evt_17', 'checkout.session.completed', checkout('cs_17', 'cus_17', '{"metadata": {"app_user": "u17"}}'))
);
select is(owner('cus_15'), 'u15 by evt_15', 'given another metadata key in the settings, when it is there, then it decides');
select is(owner('cus_16'), 'nobody', 'given another metadata key in the settings, when only the default one is there, then it names nobody');
select is(owner('cus_17'), 'u17 by evt_17', 'given another metadata key in the settings, when a session has it, then it decides');
update paidonce.settings set user_id_metadata_key = 'user_id';

-- guests

create temp table before on commit drop as select contents('events', 'deliveries', 'checkout_sessions', 'purchase_objects') as all;
select is(outcome(event('evt_20', 'checkout.session.completed', checkout('cs_20', null, '{"client_reference_id": "u1"}'))), 'processed',
    'given a guest, when the session without a customer is completed, then it is processed');
select is(outcome(event('evt_21', 'checkout.session.completed', checkout('cs_21', null, '{"metadata": {"user_id": "u1"}}') - 'customer')), 'processed',
    'given a guest, when the session does not mention a customer at all, then it is processed');
select is(outcome(event('evt_22', 'payment_method.attached', '{"id": "pm_1", "object": "payment_method", "customer": null}')), 'ignored',
    'given a guest, when an event names no customer and nobody handles it, then it is ignored');
select is(contents('events', 'deliveries', 'checkout_sessions', 'purchase_objects'), (select b.all from before as b),
    'given guests, when customers are looked for, then none was made up');
select is_empty('select event_id from paidonce.events where customer_id is not null and event_id in (''evt_20'', ''evt_21'', ''evt_22'')',
    'given guests, when their events are read, then they name no customer');

-- the first link wins

call given(event('evt_30', 'customer.subscription.updated', subscription('sub_1', 'cus_1', 'active', '{"metadata": {"user_id": "u2"}}')));
select is(owner('cus_1'), 'u1 by evt_1', 'given a customer of u1, when a subscription says u2, then u1 stays the owner');
select is(conflicts('cus_1'), 'u2 by evt_30', 'given a customer of u1, when a subscription says u2, then that is flagged');
select is((select linked_at from paidonce.customers where customer_id = 'cus_1') < (select received_at from paidonce.events where event_id = 'evt_30'), true,
    'given a customer of u1, when a subscription says u2, then the link is as old as it was');
call given(
    event('evt_31', 'customer.subscription.updated', subscription('sub_1', 'cus_1', 'active', '{"metadata": {"user_id": "u2"}}')),
    event('evt_32', 'checkout.session.completed', checkout('cs_32', 'cus_1', '{"client_reference_id": "u3"}')),
    event('evt_33', 'customer.updated', customer('cus_1', '{"metadata": {"user_id": "u1"}}'))
);
select is(conflicts('cus_1'), 'u2 by evt_30, u3 by evt_32', 'given contradictions, when they are repeated, then each user is flagged once, with the first event that named them');
select is_empty('select customer_id from paidonce.customers where user_id in (''u2'', ''u3'') and customer_id = ''cus_1''', 'given contradictions, when u2 and u3 look for customers, then they have gained nothing');
select is(outcome(event('evt_30', 'customer.subscription.updated', subscription('sub_1', 'cus_1', 'active', '{"metadata": {"user_id": "u9"}}'))), 'duplicate',
    'given a link event, when it is delivered again, then nothing is linked or flagged anew');

-- several customers of one user

call given(
    event('evt_40', 'checkout.session.completed', checkout('cs_A', 'cus_A', '{"client_reference_id": "u40"}')),
    event('evt_41', 'checkout.session.completed', checkout('cs_B', 'cus_B', '{"client_reference_id": "u40"}')),
    event('evt_42', 'customer.subscription.created', subscription('sub_A', 'cus_A', 'active')),
    event('evt_43', 'customer.subscription.created', subscription('sub_B', 'cus_B', 'active'))
);
select results_eq('select customer_id, link_event from paidonce.customers where user_id = ''u40'' order by customer_id', $$values ('cus_A', 'evt_40'), ('cus_B', 'evt_41')$$,
    'given two tabs, when both check out, then both customers are the user''s');
select is((select count(*) from paidonce.link_conflicts where customer_id in ('cus_A', 'cus_B')), 0::bigint,
    'given two customers of one user, when conflicts are read, then that is none');
select results_eq('select s.subscription_id from paidonce.subscriptions as s join paidonce.customers as c using (customer_id) where c.user_id = ''u40'' order by 1', array['sub_A', 'sub_B'],
    'given two customers of one user, when the user''s subscriptions are read, then both are there');

-- by hand

select is(paidonce.link_customer('cus_50', 'u50'), true, 'given a customer nobody has seen, when it is linked by hand, then it is the user''s');
select is(owner('cus_50'), 'u50', 'given a link by hand, when it is read, then no event made it');
select is(paidonce.link_customer('cus_50', 'u50'), true, 'given a link by hand, when it is made again, then it holds');
select is(conflicts('cus_50'), null, 'given a link by hand, when it is made again, then that is no contradiction');
select is(paidonce.link_customer('cus_50', 'u51'), false, 'given a customer of u50, when it is linked to u51 by hand, then the answer is no');
select is(owner('cus_50'), 'u50', 'given that attempt, when the customer is read, then it is u50''s');
select is(conflicts('cus_50'), 'u51', 'given that attempt, when conflicts are read, then it is there, without an event');
select is(paidonce.link_customer('cus_5', 'u5'), true, 'given a customer of nobody, when it is linked by hand, then it is the user''s');
select throws_ok(format('select paidonce.link_customer(%L, %L)', a.customer, a.app_user), '22023', null,
    format('given %s and %s, when they are linked by hand, then that is refused', coalesce(quote_literal(a.customer), 'null'), coalesce(quote_literal(a.app_user), 'null')))
from (values (null, 'u1'), ('', 'u1'), ('cus_1', null), ('cus_1', '')) as a (customer, app_user);
call given(event('evt_51', 'customer.created', customer('cus_50', '{"metadata": {"user_id": "u51"}}')));
select is(owner('cus_50'), 'u50', 'given a link by hand, when Stripe describes the customer with another user, then the link holds');
select is((select email from paidonce.customers where customer_id = 'cus_50'), 'a@example.com', 'given a link by hand, when Stripe describes the customer, then the description is kept');

-- what waited for the link

create schema app;
create table app.done (nr serial, event_id text);
create table app.knob (message text);
create function app.for_user(event jsonb) returns void language plpgsql set search_path = '' as $$
begin
    if not exists (select from paidonce.customers as c where c.customer_id = event #>> '{data,object,customer}' and c.user_id is not null) then
        raise exception 'no user yet' using errcode = 'PO404';
    end if;
    insert into app.done (event_id) values (event ->> 'id');
    if exists (select from app.knob as k where k.message = event ->> 'id') then
        raise exception 'not this one';
    end if;
end
$$;
do $$
begin
    perform paidonce.on('quote.accepted', 'app.for_user(jsonb)');
end
$$;
select is(outcome(event(v.id, 'quote.accepted', quote('qt_' || v.id, v.customer), jsonb_build_object('created', v.created))), 'parked',
    format('given %s of a customer without a user, when it is delivered, then it waits', v.id))
from (values ('evt_60', 'cus_60', 1700000300), ('evt_61', 'cus_60', 1700000100), ('evt_62', 'cus_60', 1700000200), ('evt_63', 'cus_63', 1700000000)) as v (id, customer, created);
create function app.always_fails(event jsonb) returns void language plpgsql set search_path = '' as $$
begin
    raise exception 'never';
end
$$;
do $$
begin
    perform paidonce.on('quote.finalized', 'app.always_fails(jsonb)');
end
$$;
select is(outcome(event('evt_59', 'quote.finalized', quote('qt_59', 'cus_60'))), 'failed', 'given an event that failed, when it is delivered, then it does not wait for a link');
insert into app.knob values ('evt_62');
select is(outcome(event('evt_64', 'checkout.session.completed', checkout('cs_64', 'cus_60', '{"client_reference_id": "u60"}'))), 'processed',
    'given waiting events, when checkout links their customer, then it is processed');
call run_due();
select results_eq('select event_id, status, attempts from paidonce.events where event_id in (''evt_59'', ''evt_60'', ''evt_61'', ''evt_62'', ''evt_63'') order by event_id',
    $$values ('evt_59', 'failed', 1), ('evt_60', 'processed', 2), ('evt_61', 'processed', 2), ('evt_62', 'failed', 2), ('evt_63', 'parked', 1)$$,
    'given that link, when the waiting events are read, then they have run, the one that failed is kept so, the other customer''s waits, and what had failed is left alone');
select results_eq('select event_id from app.done order by nr', array['evt_61', 'evt_60'],
    'given that link, when their effects are read, then the oldest event came first, and the failed one left nothing');
select results_eq('select event_id, outcome, source, error from paidonce.deliveries where event_id in (''evt_61'', ''evt_62'') order by delivery_id', $$values
    ('evt_61', 'parked', 'webhook', 'no user yet'), ('evt_62', 'parked', 'webhook', 'no user yet'),
    ('evt_61', 'processed', 'link', null), ('evt_62', 'failed', 'link', 'not this one')$$,
    'given that link, when the delivery log is read, then it says that the link ran them');
select is(outcome(event('evt_61', 'quote.accepted', quote('qt_evt_61', 'cus_60'))), 'duplicate',
    'given an event that a link ran, when Stripe delivers it again, then it is a duplicate');
delete from app.knob;
select is(outcome(event('evt_62', 'quote.accepted', quote('qt_evt_62', 'cus_60'))), 'processed',
    'given an event that failed when a link ran it, when Stripe delivers it again, then it is processed');
select is(paidonce.link_customer('cus_63', 'u63'), true, 'given a waiting event, when its customer is linked by hand');
call run_due();
select is((select status from paidonce.events where event_id = 'evt_63'), 'processed', 'then it has run');
select is(outcome(event('evt_65', 'quote.accepted', quote('qt_65', 'cus_63'))), 'processed',
    'given a customer with a user, when an event comes, then it does not wait');

-- a link that is undone
create function app.fails(event jsonb) returns void language plpgsql set search_path = '' as $$
begin
    if exists (select from app.knob) then
        raise exception 'no';
    end if;
end
$$;
do $$
begin
    perform paidonce.on('checkout.session.completed', 'app.fails(jsonb)');
end
$$;
insert into app.knob values ('fail');
select is(outcome(event('evt_70', 'quote.accepted', quote('qt_70', 'cus_70'))), 'parked', 'given a waiting event');
select is(outcome(event('evt_71', 'checkout.session.completed', checkout('cs_71', 'cus_70', '{"client_reference_id": "u70"}'))), 'failed', 'when the event that links its customer fails');
select results_eq('select status, attempts, (select user_id from paidonce.customers where customer_id = ''cus_70''), (select count(*) from app.done where event_id = ''evt_70'')
    from paidonce.events where event_id = ''evt_70''', $$values ('parked', 1, null::text, 0::bigint)$$,
    'then the link is undone, and it waits on');
delete from app.knob;
select is(outcome(event('evt_71', 'checkout.session.completed', checkout('cs_71', 'cus_70', '{"client_reference_id": "u70"}'))), 'processed', 'when the linking event is delivered again');
call run_due();
select results_eq('select status, (select user_id from paidonce.customers where customer_id = ''cus_70''), (select count(*) from app.done where event_id = ''evt_70'')
    from paidonce.events where event_id = ''evt_70''', $$values ('processed', 'u70', 1::bigint)$$,
    'then the link is there, and it has run');

select * from finish();
rollback;
