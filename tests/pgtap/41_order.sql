-- Any order, any duplication, the same end.
begin;
set search_path = public, extensions;
\ir support.psql
select plan(30);

-- What is known in the end, but for when it was written and which event happened to ask for the refetch.
create function spec.known() returns jsonb language sql volatile as $$
    select jsonb_build_object(
        'subscriptions', (select jsonb_agg(to_jsonb(s) order by s.subscription_id) from paidonce.subscriptions as s),
        'items', (select jsonb_agg(to_jsonb(i) order by i.subscription_id, i.item_id) from paidonce.subscription_items as i),
        'customers', (select jsonb_agg(to_jsonb(c) - 'linked_at' - 'link_event' order by c.customer_id) from paidonce.customers as c),
        'conflicts', (select count(*) from paidonce.link_conflicts),
        'outbox', (select jsonb_agg(o.action || ' ' || o.status || ' ' || o.payload order by o.action, o.payload) from paidonce.outbox as o)
    )
$$;

-- That, after events were delivered in an order. What they did is undone.
create function spec.known_after(events jsonb[]) returns jsonb language plpgsql volatile as $$
declare
    v_event jsonb;
    v_known jsonb;
begin
    begin
        foreach v_event in array events loop
            if public.handle_stripe_event(v_event) ->> 'outcome' not in ('processed', 'duplicate') then
                raise exception 'not processed: %', v_event;
            end if;
        end loop;
        v_known := known();
        raise exception 'undo' using errcode = 'UNDO0';
    exception
        when sqlstate 'UNDO0' then
            return v_known;
    end;
end
$$;
create function spec.orders_of(n integer) returns setof integer[] language sql immutable as $$
    with recursive orders (chosen) as (
        select '{}'::integer[]
        union all
        select o.chosen || i.i from orders as o, generate_series(1, n) as i (i) where i.i <> all (o.chosen)
    )
    select o.chosen from orders as o where cardinality(o.chosen) = n
$$;

-- Every order, and every order with each event delivered twice. The one that is told first is the one to compare with.
create function spec.same_end(description text, variadic events jsonb[]) returns text language plpgsql volatile as $$
declare
    v_order integer[];
    v_first jsonb := known_after(events);
    v_known jsonb;
begin
    for v_order in select * from orders_of(cardinality(events)) loop
        v_known := known_after(array(select events[i.i] from unnest(v_order) with ordinality as i (i, nr) order by i.nr));
        if v_known <> v_first then
            return ok(false, description) || e'\n' || diag('in order ', v_order::text) || e'\n' || diag(v_known) || e'\n' || diag('instead of') || e'\n' || diag(v_first);
        end if;
        v_known := known_after(array(select events[i.i] from unnest(v_order || v_order) with ordinality as i (i, nr) order by i.nr));
        if v_known <> v_first then
            return ok(false, description) || e'\n' || diag('doubled, in order ', v_order::text) || e'\n' || diag(v_known) || e'\n' || diag('instead of') || e'\n' || diag(v_first);
        end if;
    end loop;
    return ok(true, description);
end
$$;

-- An event of sub_1 at a second.
create function spec.sub_at(id text, second integer, kind text, status text, more jsonb default '{}', previous jsonb default null) returns jsonb language sql immutable as $$
    select jsonb_set(
        event(id, 'customer.subscription.' || kind, subscription('sub_1', 'cus_1', status, more), jsonb_build_object('created', 1700000000 + second)),
        '{data,previous_attributes}', coalesce(previous, '{}'))
$$;
create function spec.ends_as(variadic events jsonb[]) returns text language sql volatile as $$
    select k #>> '{subscriptions,0,status}' from known_after(events) as k
$$;

-- Time

select is(ends_as(sub_at('evt_2', 1, 'updated', 'active'), sub_at('evt_1', 0, 'created', 'incomplete')), 'active',
    'given an update, when the creation arrives after it, then the update stands');
select is(ends_as(sub_at('evt_1', 5, 'updated', 'past_due'), sub_at('evt_2', 3, 'updated', 'active')), 'past_due',
    'given a newer update, when an older one arrives, then the newer stands');
select is(ends_as(sub_at('evt_1', 0, 'created', 'active'), sub_at('evt_3', 9, 'deleted', 'canceled'), sub_at('evt_2', 5, 'updated', 'active')), 'canceled',
    'given a deletion, when an older update is retried, then the subscription stays canceled');
select is(ends_as(sub_at('evt_2', 9, 'deleted', 'canceled'), sub_at('evt_1', 0, 'created', 'active')), 'canceled',
    'given nothing, when the deletion comes before the creation, then the subscription is canceled');
select is(ends_as(sub_at('evt_1', 3, 'deleted', 'canceled'), sub_at('evt_2', 9, 'updated', 'active')), 'canceled',
    'given a deletion, when even a newer update says active, then the subscription stays canceled');
select is(ends_as(sub_at('evt_1', 5, 'updated', 'incomplete_expired'), sub_at('evt_2', 9, 'updated', 'active')), 'incomplete_expired',
    'given an expired first payment, when a newer update says active, then it stays expired');
select is((known_after(array[sub_at('evt_2', 9, 'updated', 'active', items(item('si_2', 'new'))), sub_at('evt_1', 0, 'created', 'active', items(item('si_1', 'old')))])) #>> '{items,0,price_id}', 'new',
    'given newer items, when older ones arrive, then the newer stand');
select is((known_after(array[sub_at('evt_2', 9, 'updated', 'active'), sub_at('evt_1', 0, 'created', 'active')])) #>> '{subscriptions,0,generation}', '2',
    'given an older event, when it arrives late, then a refetch under way still learns that something moved');

-- One second

select is(ends_as(sub_at(v.a, 0, v.kind_a, v.status_a), sub_at(v.b, 0, v.kind_b, v.status_b)), v.expected,
    format('given %s and %s of one second, when the second arrives last, then %s stands', v.kind_a, v.kind_b, v.expected))
from (values
    ('evt_1', 'updated', 'active', 'evt_2', 'created', 'incomplete', 'active'),
    ('evt_1', 'updated', 'past_due', 'evt_2', 'created', 'active', 'past_due'),
    ('evt_1', 'deleted', 'unpaid', 'evt_2', 'updated', 'active', 'unpaid'),
    ('evt_1', 'deleted', 'canceled', 'evt_2', 'updated', 'active', 'canceled'),
    ('evt_1', 'updated', 'past_due', 'evt_2', 'trial_will_end', 'trialing', 'past_due'),
    ('evt_1', 'created', 'active', 'evt_2', 'trial_will_end', 'trialing', 'active'),
    ('evt_9', 'updated', 'active', 'evt_1', 'updated', 'incomplete', 'active'),
    ('evt_9', 'updated', 'incomplete', 'evt_1', 'updated', 'active', 'active')
) as v (a, kind_a, status_a, b, kind_b, status_b, expected);
select is(ends_as(
        sub_at('evt_9', 0, 'updated', 'past_due', '{}', '{"status": "active"}'),
        sub_at('evt_1', 0, 'updated', 'unpaid', '{}', '{"status": "past_due"}'),
        sub_at('evt_5', 0, 'updated', 'active', '{}', '{"status": "trialing"}')),
    'unpaid', 'given three updates of one second, when each says what it changed, then the last of the chain stands, whatever the ids');

select is((known_after(array[
        sub_at('evt_1', 0, 'updated', 'unpaid', items(item('si_1', 'right')), '{"status": "past_due"}'),
        sub_at('evt_5', 0, 'updated', 'active', items(item('si_5', 'wrong'))),
        sub_at('evt_3', 0, 'updated', 'past_due', items(item('si_3', 'wrong')), '{"status": "active"}')])) #>> '{items}',
    (known_after(array[sub_at('evt_1', 0, 'updated', 'unpaid', items(item('si_1', 'right')))])) #>> '{items}',
    'given updates whose chain is known only with the last of them, when it closes, then the items of its end stand, though they came first');
select is((known_after(array[sub_at('evt_5', 0, 'updated', 'active'), sub_at('evt_4', 0, 'updated', 'past_due'), sub_at('evt_6', 0, 'updated', 'unpaid')])) #>> '{subscriptions,0,source_event}', 'evt_6',
    'given updates of one second that say nothing of what they changed, when nothing else decides, then the greatest id does');
select is((known_after(array[
        sub_at('evt_9', 0, 'updated', 'past_due'),
        sub_at('evt_1', 0, 'updated', 'active', '{}', '{"status": "past_due"}'),
        sub_at('evt_2', 0, 'updated', 'past_due', '{}', '{"status": "active"}')])) #>> '{subscriptions,0,source_event}', 'evt_2',
    'given a state that left and came back within one second, when the rest of the chain is clear, then it still counts');

-- Every order

select same_end('given a life from trial to cancellation, when it is told in any order, any number of times, then it ends the same',
    sub_at('evt_1', 0, 'created', 'trialing'), sub_at('evt_2', 1, 'updated', 'active', items(item('si_1', 'price_pro'))),
    sub_at('evt_3', 2, 'updated', 'past_due', items(item('si_2', 'price_pro'))), sub_at('evt_4', 3, 'deleted', 'canceled', items(item('si_2', 'price_pro'))));
select same_end('given the same life within one second, when it is told in any order, then it ends the same',
    sub_at('evt_1', 0, 'created', 'incomplete'), sub_at('evt_4', 0, 'updated', 'active', items(item('si_1', 'price_pro')), '{"status": "incomplete"}'),
    sub_at('evt_3', 0, 'updated', 'past_due', items(item('si_2', 'price_pro')), '{"status": "active"}'), sub_at('evt_2', 0, 'trial_will_end', 'trialing'));
select same_end('given updates of one second that say nothing of what they changed, when they are told in any order, then they end the same',
    sub_at('evt_1', 0, 'updated', 'active', items(item('si_1', 'a'))), sub_at('evt_2', 0, 'updated', 'past_due', items(item('si_2', 'b'))), sub_at('evt_3', 0, 'updated', 'unpaid', items(item('si_3', 'c'))));
select same_end('given a state that comes back within one second, when it is told in any order, then it ends the same',
    sub_at('evt_3', 0, 'updated', 'active', '{}', '{"status": "past_due"}'), sub_at('evt_1', 0, 'updated', 'past_due', '{}', '{"status": "active"}'), sub_at('evt_2', 0, 'created', 'active'));
select same_end('given two ends of different kinds, when they are told in any order, then they end the same',
    sub_at('evt_1', 1, 'updated', 'incomplete_expired'), sub_at('evt_2', 2, 'deleted', 'canceled'), sub_at('evt_3', 3, 'updated', 'active'), sub_at('evt_4', 0, 'created', 'incomplete'));
select same_end('given a checkout, its customer and its subscription, when they are told in any order, then they end the same',
    event('evt_1', 'customer.created', customer('cus_1', '{"metadata": {"user_id": "u1"}}'), '{"created": 1700000000}'),
    event('evt_2', 'customer.updated', customer('cus_1', '{"email": "new@example.com"}'), '{"created": 1700000001}'),
    event('evt_3', 'checkout.session.completed', checkout('cs_1', 'cus_1', '{"client_reference_id": "u1"}')),
    sub_at('evt_4', 0, 'created', 'active', '{"metadata": {"user_id": "u1"}}'));
select same_end('given a customer and its deletion, when they are told in any order, then it is deleted',
    event('evt_1', 'customer.created', customer('cus_1'), '{"created": 1700000000}'),
    event('evt_2', 'customer.deleted', customer('cus_1'), '{"created": 1700000001}'),
    event('evt_3', 'customer.updated', customer('cus_1', '{"email": "late@example.com"}'), '{"created": 1700000002}'),
    sub_at('evt_4', 0, 'created', 'active'));
select same_end('given events without a time, when they are told in any order, then they end the same',
    sub_at('evt_1', 0, 'created', 'trialing') - 'created', sub_at('evt_2', 0, 'updated', 'active') - 'created', sub_at('evt_3', 0, 'updated', 'past_due') || '{"created": "yesterday"}');
select same_end('given two customers of one user and their subscriptions, when they are told in any order, then both are there',
    event('evt_1', 'checkout.session.completed', checkout('cs_1', 'cus_1', '{"client_reference_id": "u1"}')),
    event('evt_2', 'checkout.session.completed', checkout('cs_2', 'cus_2', '{"client_reference_id": "u1"}')),
    sub_at('evt_3', 0, 'created', 'active'),
    event('evt_4', 'customer.subscription.created', subscription('sub_2', 'cus_2', 'active')));

-- Twins: two event objects for one change
select is(ends_as(sub_at('evt_1', 0, 'updated', 'active'), sub_at('evt_2', 0, 'updated', 'active')), 'active',
    'given two events for one change, when both are delivered, then one state is there');

select * from finish();
rollback;
