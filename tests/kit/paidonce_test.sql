-- The test kit of paidonce: builds valid Stripe events of a chosen API version, for tests of your own effects.
--
-- It is no part of the migrations. Apply it to a test database, after paidonce's migrations and as their owner, or
-- inside the transaction of a pgTAP file, with \ir. It refuses a database that is set to live events.
--
--     select paidonce_test.deliver(paidonce_test.event('checkout.session.completed', '{"customer": "cus_1", "client_reference_id": "u1"}'));
--     select paidonce_test.deliver(paidonce_test.event('customer.subscription.created', paidonce_test.subscription('sub_1', 'cus_1', 'active')));
--     select paidonce_test.deliver(paidonce_test.event('invoice.paid', '{"customer": "cus_1"}', '2020-08-27'));
--
-- docs/effects.md tells more.

do $$
begin
    if exists (select from paidonce.settings as s where s.livemode) then
        raise exception 'the test kit makes events up: it has no business in a database that takes live ones';
    end if;
end
$$;

create schema paidonce_test;
comment on schema paidonce_test is 'Test kit of paidonce: builds Stripe events. Not for production.';
revoke all on schema paidonce_test from public;

create sequence paidonce_test.numbers;
comment on sequence paidonce_test.numbers is 'Numbers the ids that are made, and the seconds of the events.';

-- Purpose:   say whether an API version is of the shape that Stripe introduced with another.
-- Arguments: api_version; since, both beginning with a date.
create function paidonce_test.since(api_version text, since text)
returns boolean
language sql
immutable
set search_path = ''
as $$
    select left(api_version, 10) >= since
$$;
comment on function paidonce_test.since(text, text) is 'Whether an API version is that of a date or later.';

-- Purpose:   make an id that no other object has.
-- Arguments: prefix, such as sub.
create function paidonce_test.fresh_id(prefix text)
returns text
language sql
volatile
set search_path = ''
as $$
    select prefix || '_test' || lpad(nextval('paidonce_test.numbers')::text, 6, '0')
$$;
comment on function paidonce_test.fresh_id(text) is 'An id that no other object has, such as sub_test000001.';

-- Purpose:   build a customer.
-- Arguments: id; fields, added to it or instead of its own.
create function paidonce_test.customer(id text default null, fields jsonb default '{}')
returns jsonb
language sql
volatile
set search_path = ''
as $$
    select jsonb_build_object(
        'id', coalesce(id, paidonce_test.fresh_id('cus')), 'object', 'customer', 'created', 1700000000, 'livemode', false,
        'email', 'buyer@example.com', 'name', 'A Buyer', 'metadata', '{}'::jsonb
    ) || coalesce(fields, '{}')
$$;
comment on function paidonce_test.customer(text, jsonb) is 'A customer.';

-- Purpose:   build a subscription with one item per price.
-- Arguments: id; customer; status; prices; fields, added to it or instead of its own; api_version: until 2025-03-31 the
--            subscription has the period, since then its items have; before 2020-08-27 items have a plan and no price.
create function paidonce_test.subscription(
    id text default null, customer text default null, status text default 'active', prices text[] default '{price_test}',
    fields jsonb default '{}', api_version text default '2026-11-18.endive'
)
returns jsonb
language sql
volatile
set search_path = ''
as $$
    with given as (
        select coalesce(id, paidonce_test.fresh_id('sub')) as id, extract(epoch from date_trunc('second', now()))::bigint as began
    ),
    period as (
        select jsonb_build_object('current_period_start', g.began, 'current_period_end', g.began + 30 * 86400) as stated from given as g
    )
    select jsonb_build_object(
            'id', g.id, 'object', 'subscription', 'customer', coalesce(customer, 'cus_test'), 'status', status, 'created', g.began, 'livemode', false,
            'cancel_at', null, 'cancel_at_period_end', false, 'canceled_at', case when status = 'canceled' then g.began end,
            'ended_at', case when status in ('canceled', 'incomplete_expired') then g.began end,
            'trial_end', case when status = 'trialing' then g.began + 14 * 86400 end, 'metadata', '{}'::jsonb
        )
        || case when paidonce_test.since(api_version, '2019-12-03') then '{"pause_collection": null}'::jsonb else '{}' end
        || case when paidonce_test.since(api_version, '2025-03-31') then '{}'::jsonb else p.stated end
        || case when paidonce_test.since(api_version, '2025-06-30') then '{"billing_mode": {"type": "flexible"}}'::jsonb else '{}' end
        || jsonb_build_object('items', jsonb_build_object('object', 'list', 'has_more', false, 'data', (
            select coalesce(jsonb_agg(
                jsonb_build_object('id', format('si_%s_%s', g.id, i.number), 'object', 'subscription_item', 'quantity', 1, 'subscription', g.id, 'metadata', '{}'::jsonb)
                || case when paidonce_test.since(api_version, '2020-08-27')
                    then jsonb_build_object('price', jsonb_build_object('id', i.price, 'object', 'price', 'active', true, 'currency', 'usd',
                        'lookup_key', null, 'metadata', '{}'::jsonb, 'product', 'prod_' || i.price, 'unit_amount', 1000))
                    else jsonb_build_object('plan', jsonb_build_object('id', i.price, 'object', 'plan', 'active', true, 'amount', 1000, 'currency', 'usd',
                        'interval', 'month', 'metadata', '{}'::jsonb, 'product', 'prod_' || i.price))
                end
                || case when paidonce_test.since(api_version, '2025-03-31') then p.stated else '{}' end
                order by i.number
            ), '[]')
            from unnest(prices) with ordinality as i (price, number)
        )))
        || coalesce(fields, '{}')
    from given as g cross join period as p
$$;
comment on function paidonce_test.subscription(text, text, text, text[], jsonb, text) is 'A subscription of one item per price, in the shape of an API version.';

-- Purpose:   build an invoice of one line per price.
-- Arguments: id; customer; status; subscription, null for a one-off invoice; prices; amount of each line, in minor units; fields, added to it
--            or instead of its own; api_version: until 2025-03-31 it names its subscription and its intent and carries whole prices,
--            since then its parent names the subscription, its lines have the ids of their prices, and only invoice_payment.* names the
--            intent; before 2018-11-08 flags stand for its status.
create function paidonce_test.invoice(
    id text default null, customer text default null, status text default 'paid', subscription text default 'sub_test',
    prices text[] default '{price_test}', amount bigint default 1000, fields jsonb default '{}', api_version text default '2026-11-18.endive'
)
returns jsonb
language sql
volatile
set search_path = ''
as $$
    with given as (
        select coalesce(id, paidonce_test.fresh_id('in')) as id, extract(epoch from date_trunc('second', now()))::bigint as began,
            amount * cardinality(prices) as total, paidonce_test.since(api_version, '2025-03-31') as basil
    )
    select jsonb_build_object(
            'id', g.id, 'object', 'invoice', 'customer', coalesce(customer, 'cus_test'), 'currency', 'usd', 'livemode', false, 'metadata', '{}'::jsonb,
            'attempt_count', case when status = 'draft' then 0 else 1 end, 'period_start', g.began, 'period_end', g.began,
            'subtotal', g.total, 'total', g.total, 'amount_due', g.total
        )
        || case when paidonce_test.since(api_version, '2018-11-08') then jsonb_build_object('status', status)
            else jsonb_build_object('closed', status in ('paid', 'void'), 'forgiven', status = 'uncollectible') end
        || case when paidonce_test.since(api_version, '2018-02-28') then jsonb_build_object(
                'billing_reason', case when subscription is null then 'manual' else 'subscription_cycle' end,
                'amount_paid', case when status = 'paid' then g.total else 0 end) else '{}' end
        || case when paidonce_test.since(api_version, '2018-11-08') then jsonb_build_object('created', g.began) else jsonb_build_object('date', g.began) end
        || case when g.basil then jsonb_build_object('parent', case when subscription is not null then jsonb_build_object(
                'type', 'subscription_details', 'subscription_details', jsonb_build_object('subscription', subscription, 'metadata', '{}'::jsonb)) end)
            else jsonb_build_object('paid', status = 'paid', 'subscription', subscription) end
        || case
            when g.basil then '{}'::jsonb
            when paidonce_test.since(api_version, '2019-02-11') then jsonb_build_object('payment_intent', 'pi_' || g.id, 'charge', case when status = 'paid' then 'ch_' || g.id end)
            else jsonb_build_object('charge', case when status = 'paid' then 'ch_' || g.id end)
        end
        || jsonb_build_object('lines', jsonb_build_object('object', 'list', 'has_more', false, 'data', (
            select coalesce(jsonb_agg(
                jsonb_build_object('id', format('il_%s_%s', g.id, l.number), 'amount', amount, 'currency', 'usd', 'quantity', 1,
                    'period', jsonb_build_object('start', g.began, 'end', g.began + 30 * 86400), 'metadata', '{}'::jsonb)
                || case when g.basil
                    then jsonb_build_object('object', 'line_item',
                        'pricing', jsonb_build_object('type', 'price_details', 'price_details', jsonb_build_object('price', l.price, 'product', 'prod_' || l.price)),
                        'parent', case when subscription is not null then jsonb_build_object('type', 'subscription_item_details',
                            'subscription_item_details', jsonb_build_object('proration', false, 'subscription', subscription)) end)
                    else jsonb_build_object('object', 'line_item', 'proration', false, 'subscription', subscription,
                        case when paidonce_test.since(api_version, '2020-08-27') then 'price' else 'plan' end,
                        jsonb_build_object('id', l.price, 'metadata', '{}'::jsonb, 'product', 'prod_' || l.price,
                            'object', case when paidonce_test.since(api_version, '2020-08-27') then 'price' else 'plan' end))
                end
                order by l.number
            ), '[]')
            from unnest(prices) with ordinality as l (price, number)
        )))
        || coalesce(fields, '{}')
    from given as g
$$;
comment on function paidonce_test.invoice(text, text, text, text, text[], bigint, jsonb, text) is 'An invoice of one line per price, in the shape of an API version.';

-- Purpose:   build a completed checkout session.
-- Arguments: id; customer, null for a guest; user_id, its client_reference_id; mode; fields, added to it or instead of its own.
create function paidonce_test.checkout_session(
    id text default null, customer text default 'cus_test', user_id text default null, mode text default 'payment', fields jsonb default '{}'
)
returns jsonb
language sql
volatile
set search_path = ''
as $$
    select jsonb_build_object(
        'id', coalesce(id, paidonce_test.fresh_id('cs')), 'object', 'checkout.session', 'customer', customer, 'client_reference_id', user_id,
        'mode', mode, 'status', 'complete', 'payment_status', 'paid', 'amount_total', 1000, 'currency', 'usd', 'livemode', false,
        'customer_details', '{"email": "buyer@example.com"}'::jsonb, 'invoice', null, 'payment_intent', null, 'subscription', null, 'metadata', '{}'::jsonb
    ) || coalesce(fields, '{}')
$$;
comment on function paidonce_test.checkout_session(text, text, text, text, jsonb) is 'A completed checkout session.';

-- Purpose:   build the object that an event of a type is about.
-- Arguments: type; api_version. Types without a builder of their own get an object of their kind with an id and a customer.
create function paidonce_test.object_of(type text, api_version text)
returns jsonb
language sql
volatile
set search_path = ''
as $$
    select case
        when type like 'customer.subscription.%' then paidonce_test.subscription(
            status => case split_part(type, '.', 3) when 'deleted' then 'canceled' when 'paused' then 'paused' when 'trial_will_end' then 'trialing' else 'active' end,
            api_version => object_of.api_version)
        when type ~ '^customer\.[^.]+$' then paidonce_test.customer()
        when type like 'checkout.session.%' then paidonce_test.checkout_session(fields => case split_part(type, '.', 3)
            when 'expired' then '{"status": "expired", "payment_status": "unpaid"}'
            when 'async_payment_failed' then '{"payment_status": "unpaid"}'
            else '{}' end::jsonb)
        when type like 'invoice.%' then paidonce_test.invoice(
            status => case
                when split_part(type, '.', 2) in ('paid', 'payment_succeeded') then 'paid'
                when split_part(type, '.', 2) in ('created', 'deleted') then 'draft'
                when type = 'invoice.voided' then 'void'
                when type = 'invoice.marked_uncollectible' then 'uncollectible'
                else 'open' end,
            api_version => object_of.api_version)
        when type like 'invoice\_payment.%' then jsonb_build_object('id', paidonce_test.fresh_id('inpay'), 'object', 'invoice_payment', 'status', 'paid',
            'invoice', 'in_test', 'payment', '{"type": "payment_intent", "payment_intent": "pi_test"}'::jsonb)
        when type like 'payment\_intent.%' then jsonb_build_object('id', paidonce_test.fresh_id('pi'), 'object', 'payment_intent', 'customer', 'cus_test',
            'amount', 1000, 'amount_received', case when type like '%.succeeded' then 1000 else 0 end, 'currency', 'usd', 'metadata', '{}'::jsonb,
            'status', case split_part(type, '.', 2) when 'succeeded' then 'succeeded' when 'processing' then 'processing' when 'canceled' then 'canceled' else 'requires_payment_method' end)
            || case when paidonce_test.since(object_of.api_version, '2025-03-31') then '{}' else '{"invoice": null}'::jsonb end
        when type like 'charge.dispute.%' then jsonb_build_object('id', paidonce_test.fresh_id('dp'), 'object', 'dispute', 'charge', 'ch_test', 'payment_intent', 'pi_test',
            'amount', 1000, 'currency', 'usd', 'reason', 'fraudulent', 'status', case when type like '%.closed' then 'lost' else 'needs_response' end)
        when type like 'charge.refund.%' or type like 'refund.%' then jsonb_build_object('id', paidonce_test.fresh_id('re'), 'object', 'refund', 'charge', 'ch_test',
            'payment_intent', 'pi_test', 'amount', 1000, 'currency', 'usd', 'status', case when type like '%.failed' then 'failed' else 'succeeded' end)
        when type like 'charge.%' then jsonb_build_object('id', 'ch_test', 'object', 'charge', 'customer', 'cus_test', 'payment_intent', 'pi_test', 'amount', 1000,
            'amount_captured', case when type = 'charge.failed' then 0 else 1000 end, 'amount_refunded', case when type = 'charge.refunded' then 1000 else 0 end,
            'captured', type <> 'charge.failed', 'currency', 'usd', 'metadata', '{}'::jsonb, 'status', case when type = 'charge.failed' then 'failed' else 'succeeded' end)
            || case when paidonce_test.since(object_of.api_version, '2025-03-31') then '{}' else '{"invoice": null}'::jsonb end
        when type like 'price.%' then jsonb_build_object('id', paidonce_test.fresh_id('price'), 'object', 'price', 'active', true, 'currency', 'usd', 'lookup_key', null,
            'metadata', '{}'::jsonb, 'product', 'prod_test', 'unit_amount', 1000)
        when type like 'product.%' then jsonb_build_object('id', paidonce_test.fresh_id('prod'), 'object', 'product', 'active', true, 'name', 'A product', 'metadata', '{}'::jsonb)
        else jsonb_build_object('id', paidonce_test.fresh_id('obj'), 'object', regexp_replace(type, '\.[^.]*$', ''), 'customer', 'cus_test')
    end
$$;
comment on function paidonce_test.object_of(text, text) is 'The object that an event of a type is about, in the shape of an API version.';

-- Purpose:   build an event.
-- Arguments: type; object, the whole object (it has a key "object") or fields, added to a default one or instead of its own;
--            api_version; created, by default one second later than the event built before it, so that events are in the order in which
--            they are built; previous_attributes, of *.updated; id, by default a new one; livemode; account, of a connected account.
create function paidonce_test.event(
    type text, object jsonb default '{}', api_version text default '2026-11-18.endive', created timestamptz default null,
    previous_attributes jsonb default null, id text default null, livemode boolean default false, account text default null
)
returns jsonb
language sql
volatile
set search_path = ''
as $$
    select jsonb_build_object(
            'id', coalesce(id, 'evt_test' || lpad(n.number::text, 6, '0')), 'object', 'event', 'type', type, 'api_version', api_version,
            'created', coalesce(extract(epoch from date_trunc('second', created))::bigint, extract(epoch from date_trunc('second', now()))::bigint + n.number),
            'livemode', livemode, 'pending_webhooks', 1,
            'data', jsonb_build_object('object', case when object ? 'object' then object else paidonce_test.object_of(type, api_version) || coalesce(object, '{}') end)
                || case when previous_attributes is null then '{}' else jsonb_build_object('previous_attributes', previous_attributes) end
        )
        -- Until 2017-05-25 the request was an id, since then it is an object.
        || case when paidonce_test.since(api_version, '2017-05-25') then '{"request": {"id": null, "idempotency_key": null}}'::jsonb else '{"request": null}' end
        || case when account is null then '{}' else jsonb_build_object('account', account) end
    from (select nextval('paidonce_test.numbers') as number) as n
$$;
comment on function paidonce_test.event(text, jsonb, text, timestamptz, jsonb, text, boolean, text) is
    'A valid Stripe event of a type, in the shape of an API version.';

-- Purpose:   deliver an event as the webhook does.
-- Arguments: event.
-- Returns:   the outcome: processed, duplicate, ignored, parked or failed.
-- Raises:    as public.handle_stripe_event.
create function paidonce_test.deliver(event jsonb)
returns text
language sql
volatile
set search_path = ''
as $$
    select public.handle_stripe_event(event) ->> 'outcome'
$$;
comment on function paidonce_test.deliver(jsonb) is 'Delivers an event as the webhook does and returns the outcome.';

revoke all on all functions in schema paidonce_test from public;
revoke all on all sequences in schema paidonce_test from public;
