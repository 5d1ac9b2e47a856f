-- The functions that read Stripe's objects, and every shape they have had: one row per shape.
begin;
set search_path = public, extensions;
\ir support.psql

create table spec.shapes (reader text, shape text, object jsonb, expected text);
insert into shapes values
    ('read_object_id', 'an id', '"cus_1"', 'cus_1'),
    ('read_object_id', 'an expanded object', '{"id": "cus_1", "object": "customer"}', 'cus_1'),
    ('read_object_id', 'a deleted object', '{"id": "cus_1", "deleted": true}', 'cus_1'),
    ('read_object_id', 'null', 'null', null),
    ('read_object_id', 'nothing', null, null),
    ('read_object_id', 'a blank', '""', null),
    ('read_object_id', 'a number', '1', null),
    ('read_object_id', 'an array', '["cus_1"]', null),
    ('read_object_id', 'an object without id', '{}', null),
    ('read_object_id', 'an id that is a number', '{"id": 1}', null),
    ('read_object_id', 'a blank id', '{"id": ""}', null),

    ('read_object', 'an event', '{"data": {"object": {"id": "in_1"}}}', '{"id": "in_1"}'),
    ('read_object', 'a thin event', '{"object": "v2.core.event", "related_object": {"id": "in_1", "type": "invoice"}}', '{"id": "in_1", "object": "invoice"}'),
    ('read_account', 'an event of a connected account', '{"account": "acct_1"}', 'acct_1'),
    ('read_account', 'a thin event of one', '{"context": "acct_1"}', 'acct_1'),
    ('read_account', 'an event of the platform', '{"account": null}', null),
    ('read_customer_id', 'an object of a customer', '{"object": "invoice", "id": "in_1", "customer": "cus_1"}', 'cus_1'),
    ('read_customer_id', 'an object of an expanded customer', '{"object": "invoice", "customer": {"id": "cus_1", "object": "customer"}}', 'cus_1'),
    ('read_customer_id', 'a customer', '{"object": "customer", "id": "cus_1"}', 'cus_1'),
    ('read_customer_id', 'a guest', '{"object": "checkout.session", "customer": null}', null),
    ('read_customer_id', 'an object that belongs to nobody', '{"object": "product", "id": "prod_1"}', null),
    ('read_customer_id', 'nothing', null, null),
    ('read_customer_id', 'a string', '"cus_1"', null),

    ('read_event_id', 'an event', '{"id": "evt_1", "type": "a", "data": {"object": {}}}', 'evt_1'),

    ('read_flag', 'true', 'true', 'true'),
    ('read_flag', 'false', 'false', 'false'),
    ('read_flag', 'null', 'null', null),
    ('read_flag', 'nothing', null, null),
    ('read_flag', 'a string', '"true"', null),
    ('read_flag', 'a number', '1', null),

    ('read_integer', 'a number', '42', '42'),
    ('read_integer', 'a negative one', '-1', '-1'),
    ('read_integer', 'a whole number with a point', '2.0', '2'),
    ('read_integer', 'a fraction', '1.9', '1'),
    ('read_integer', 'the greatest', '9223372036854775807', '9223372036854775807'),
    ('read_integer', 'one more than the greatest', '9223372036854775808', null),
    ('read_integer', 'something huge', '1e400', null),
    ('read_integer', 'a string', '"42"', null),
    ('read_integer', 'null', 'null', null),
    ('read_integer', 'nothing', null, null),
    ('read_integer', 'true', 'true', null),

    ('read_time', 'seconds', '1700000000', '2023-11-14 22:13:20+00'),
    ('read_time', 'zero', '0', '1970-01-01 00:00:00+00'),
    ('read_time', 'null', 'null', null),
    ('read_time', 'nothing', null, null),
    ('read_time', 'a string', '"1700000000"', null),
    ('read_time', 'the year 9999', '253402300799', '9999-12-31 23:59:59+00'),
    ('read_time', 'milliseconds taken for seconds', '1700000000000', null),
    ('read_time', 'before 1970', '-1', null),
    ('read_time', 'something huge', '1e400', null),
    ('read_time', 'an object', '{}', null),

    ('read_pause_behavior', 'no pause', '{"pause_collection": null}', null),
    ('read_pause_behavior', 'a version before pauses', '{}', null),
    ('read_pause_behavior', 'a pause', '{"pause_collection": {"behavior": "void", "resumes_at": null}}', 'void'),

    ('read_subscription_cancel_at', 'nothing scheduled', '{"cancel_at": null, "cancel_at_period_end": false, "current_period_end": 1700000000}', null),
    ('read_subscription_cancel_at', 'cancel_at alone', '{"cancel_at": 1700000000, "cancel_at_period_end": false}', '2023-11-14 22:13:20+00'),
    ('read_subscription_cancel_at', 'the flag alone', '{"cancel_at_period_end": true, "current_period_end": 1700000000}', '2023-11-14 22:13:20+00'),
    ('read_subscription_cancel_at', 'the flag and the period of the items', '{"cancel_at_period_end": true, "items": {"data": [{"id": "si_1", "current_period_end": 1700000000}]}}', '2023-11-14 22:13:20+00'),
    ('read_subscription_cancel_at', 'the flag and cancel_at', '{"cancel_at": 0, "cancel_at_period_end": true, "current_period_end": 1700000000}', '1970-01-01 00:00:00+00'),
    ('read_subscription_cancel_at', 'the flag without any period', '{"cancel_at_period_end": true}', null),
    ('read_subscription_cancel_at', 'a flag that is none', '{"cancel_at_period_end": "true", "current_period_end": 1700000000}', null),

    ('read_subscription_period', 'of the subscription', '{"current_period_start": 0, "current_period_end": 1700000000}', '("1970-01-01 00:00:00+00","2023-11-14 22:13:20+00")'),
    ('read_subscription_period', 'of an item', '{"items": {"data": [{"current_period_start": 0, "current_period_end": 1700000000}]}}', '("1970-01-01 00:00:00+00","2023-11-14 22:13:20+00")'),
    ('read_subscription_period', 'of both', '{"current_period_start": 0, "current_period_end": 1700000000, "items": {"data": [{"current_period_end": 1}]}}', '("1970-01-01 00:00:00+00","2023-11-14 22:13:20+00")'),
    ('read_subscription_period', 'of the item that ends first',
        '{"items": {"data": [{"current_period_start": 2, "current_period_end": 1800000000}, {"current_period_start": 0, "current_period_end": 1700000000}, {}]}}', '("1970-01-01 00:00:00+00","2023-11-14 22:13:20+00")'),
    ('read_subscription_period', 'of nothing', '{}', '(,)'),
    ('read_subscription_period', 'of items that are none', '{"items": {"data": "x"}}', '(,)'),
    ('read_subscription_period', 'of null', null, '(,)'),

    ('read_subscription_items', 'items', '{"id": "sub_1", "items": {"data": [{"id": "si_1"}]}, "plan": {"id": "p"}}', '[{"id": "si_1"}]'),
    ('read_subscription_items', 'a plan', '{"id": "sub_1", "plan": {"id": "p"}, "quantity": 2}', '[{"id": "sub_1:plan", "plan": {"id": "p"}, "quantity": 2}]'),
    ('read_subscription_items', 'a plan and no items', '{"id": "sub_1", "plan": {"id": "p"}, "items": {"data": []}}', '[{"id": "sub_1:plan", "plan": {"id": "p"}, "quantity": null}]'),
    ('read_subscription_items', 'several items and a plan of null', '{"id": "sub_1", "plan": null, "items": {"data": [{"id": "si_1"}, {"id": "si_2"}]}}', '[{"id": "si_1"}, {"id": "si_2"}]'),
    ('read_subscription_items', 'neither', '{}', '[]'),
    ('read_subscription_items', 'items that are none', '{"items": {"data": {}}}', '[]'),
    ('read_subscription_items', 'nothing', null, '[]'),

    ('read_item_price_id', 'an expanded price', '{"price": {"id": "price_1"}, "plan": {"id": "plan_1"}}', 'price_1'),
    ('read_item_price_id', 'a price by id', '{"price": "price_1"}', 'price_1'),
    ('read_item_price_id', 'a plan', '{"plan": {"id": "plan_1"}}', 'plan_1'),
    ('read_item_price_id', 'a price of null and a plan', '{"price": null, "plan": {"id": "plan_1"}}', 'plan_1'),
    ('read_item_price_id', 'neither', '{}', null),

    ('read_item_product_id', 'an expanded price', '{"price": {"product": "prod_1"}}', 'prod_1'),
    ('read_item_product_id', 'an expanded product', '{"price": {"product": {"id": "prod_1"}}}', 'prod_1'),
    ('read_item_product_id', 'a plan', '{"plan": {"product": "prod_1"}}', 'prod_1'),
    ('read_item_product_id', 'a price by id', '{"price": "price_1"}', null),
    ('read_item_product_id', 'a plan before products', '{"plan": {"id": "gold", "name": "Gold"}}', null),

    ('read_lookup_key', 'an expanded price', '{"price": {"lookup_key": "pro"}}', 'pro'),
    ('read_lookup_key', 'a blank', '{"price": {"lookup_key": ""}}', null),
    ('read_lookup_key', 'none', '{"price": {"lookup_key": null}}', null),
    ('read_lookup_key', 'a price by id', '{"price": "price_1"}', null),

    ('read_credits', 'a number in metadata', '{"metadata": {"credits": "100"}}', '100'),
    ('read_credits', 'blanks around it', '{"metadata": {"credits": " 100 "}}', '100'),
    ('read_credits', 'a JSON number', '{"metadata": {"credits": 100}}', '100'),
    ('read_credits', 'zero', '{"metadata": {"credits": "0"}}', '0'),
    ('read_credits', 'a negative one', '{"metadata": {"credits": "-5"}}', null),
    ('read_credits', 'a fraction', '{"metadata": {"credits": "1.5"}}', null),
    ('read_credits', 'words', '{"metadata": {"credits": "many"}}', null),
    ('read_credits', 'too many', '{"metadata": {"credits": "9999999999999999999"}}', null),
    ('read_credits', 'none', '{"metadata": {}}', null),
    ('read_credits', 'no metadata', '{"metadata": null}', null),

    ('read_features', 'one feature', '{"metadata": {"feature": "pro"}}', '{pro}'),
    ('read_features', 'a list', '{"metadata": {"features": "b, a,,b ,"}}', '{a,b}'),
    ('read_features', 'both', '{"metadata": {"feature": "c", "features": "a"}}', '{a,c}'),
    ('read_features', 'none', '{"metadata": {}}', '{}'),
    ('read_features', 'no metadata', '{}', '{}'),

    ('read_invoice_status', 'a status', '{"status": "open", "paid": false}', 'open'),
    ('read_invoice_status', 'paid', '{"status": "paid", "paid": true}', 'paid'),
    ('read_invoice_status', 'paid, by the flag alone', '{"paid": true, "closed": true}', 'paid'),
    ('read_invoice_status', 'closed, before there was a status', '{"paid": false, "closed": true}', 'void'),
    ('read_invoice_status', 'forgiven, before there was a status', '{"paid": false, "closed": true, "forgiven": true}', 'uncollectible'),
    ('read_invoice_status', 'open, before there was a status', '{"paid": false, "closed": false, "forgiven": false}', 'open'),
    ('read_invoice_status', 'void, since the flag is gone', '{"status": "void"}', 'void'),
    ('read_invoice_status', 'nothing', '{}', null),

    ('read_invoice_amount_paid', 'an amount', '{"amount_paid": 500, "amount_due": 700}', '500'),
    ('read_invoice_amount_paid', 'paid, by the flag alone', '{"paid": true, "amount_due": 700}', '700'),
    ('read_invoice_amount_paid', 'not paid', '{"paid": false, "amount_due": 700}', null),
    ('read_invoice_amount_paid', 'a trial', '{"amount_paid": 0, "amount_due": 0, "status": "paid"}', '0'),

    ('read_invoice_subscription_id', 'the old place', '{"subscription": "sub_1"}', 'sub_1'),
    ('read_invoice_subscription_id', 'expanded', '{"subscription": {"id": "sub_1"}}', 'sub_1'),
    ('read_invoice_subscription_id', 'the new place', '{"parent": {"type": "subscription_details", "subscription_details": {"subscription": "sub_1"}}}', 'sub_1'),
    ('read_invoice_subscription_id', 'a one-off invoice', '{"parent": null}', null),
    ('read_invoice_subscription_id', 'an old one-off invoice', '{"subscription": null}', null),

    ('read_invoice_payment_ids', 'the old places', '{"payment_intent": "pi_1", "charge": "ch_1"}', '{ch_1,pi_1}'),
    ('read_invoice_payment_ids', 'expanded', '{"payment_intent": {"id": "pi_1"}}', '{pi_1}'),
    ('read_invoice_payment_ids', 'the new place', '{"payments": {"data": [{"payment": {"type": "payment_intent", "payment_intent": "pi_2"}}, {"payment": {"type": "charge", "charge": "ch_2"}}]}}', '{ch_2,pi_2}'),
    ('read_invoice_payment_ids', 'the same in both', '{"payment_intent": "pi_1", "payments": {"data": [{"payment": {"payment_intent": {"id": "pi_1"}}}]}}', '{pi_1}'),
    ('read_invoice_payment_ids', 'none', '{"payments": null}', '{}'),
    ('read_invoice_payment_ids', 'payments that are none', '{"payments": {"data": [1, null, "x"]}}', '{}'),

    ('read_invoice_payment_link', 'an intent', '{"payment": {"type": "payment_intent", "payment_intent": "pi_1"}}', '{pi_1}'),
    ('read_invoice_payment_link', 'a charge', '{"payment": {"type": "charge", "charge": "ch_1"}}', '{ch_1}'),
    ('read_invoice_payment_link', 'neither', '{}', '{}'),

    ('read_line_price', 'an expanded price', '{"price": {"id": "price_1"}}', '{"id": "price_1"}'),
    ('read_line_price', 'a plan', '{"plan": {"id": "plan_1"}}', '{"id": "plan_1"}'),
    ('read_line_price', 'the new place, by id', '{"pricing": {"price_details": {"price": "price_1"}}}', null),
    ('read_line_price', 'the new place, expanded', '{"pricing": {"price_details": {"price": {"id": "price_1"}}}}', '{"id": "price_1"}'),
    ('read_line_price', 'none', '{"price": null, "plan": null}', null),
    ('read_line_price_id', 'an expanded price', '{"price": {"id": "price_1"}, "plan": {"id": "plan_1"}}', 'price_1'),
    ('read_line_price_id', 'a plan', '{"plan": {"id": "plan_1"}}', 'plan_1'),
    ('read_line_price_id', 'the new place', '{"pricing": {"price_details": {"price": "price_1", "product": "prod_1"}}}', 'price_1'),
    ('read_line_price_id', 'none', '{"pricing": null}', null),
    ('read_line_product_id', 'an expanded price', '{"price": {"product": "prod_1"}}', 'prod_1'),
    ('read_line_product_id', 'a plan', '{"plan": {"product": "prod_1"}}', 'prod_1'),
    ('read_line_product_id', 'the new place', '{"pricing": {"price_details": {"price": "price_1", "product": "prod_1"}}}', 'prod_1'),
    ('read_line_product_id', 'none', '{}', null),
    ('read_line_proration', 'the old place', '{"proration": true}', 'true'),
    ('read_line_proration', 'the new place, of an item', '{"parent": {"subscription_item_details": {"proration": true}}}', 'true'),
    ('read_line_proration', 'the new place, of an invoice item', '{"parent": {"invoice_item_details": {"proration": true}}}', 'true'),
    ('read_line_proration', 'false', '{"proration": false}', 'false'),
    ('read_line_proration', 'nothing', '{}', 'false'),
    ('read_line_subscription_id', 'the old place', '{"subscription": "sub_1"}', 'sub_1'),
    ('read_line_subscription_id', 'the new place, of an item', '{"parent": {"subscription_item_details": {"subscription": "sub_1"}}}', 'sub_1'),
    ('read_line_subscription_id', 'the new place, of an invoice item', '{"parent": {"invoice_item_details": {"subscription": "sub_1"}}}', 'sub_1'),
    ('read_line_subscription_id', 'a line that has the subscription''s id', '{"id": "sub_1"}', 'sub_1'),
    ('read_line_subscription_id', 'none', '{"id": "il_1"}', null),

    ('read_payment_amount', 'an intent', '{"amount": 700, "amount_received": 500}', '500'),
    ('read_payment_amount', 'a charge', '{"amount": 700, "amount_captured": 600, "captured": true}', '600'),
    ('read_payment_amount', 'a charge before amount_captured', '{"amount": 700, "captured": true}', '700'),
    ('read_payment_amount', 'one that is not captured', '{"amount": 700, "captured": false}', null),
    ('read_payment_amount', 'nothing', '{}', null),
    ('read_payment_ids', 'an intent', '{"object": "payment_intent", "id": "pi_1", "latest_charge": "ch_1"}', '{ch_1,pi_1}'),
    ('read_payment_ids', 'an intent that lists its charges', '{"object": "payment_intent", "id": "pi_1", "charges": {"data": [{"id": "ch_1"}, {"id": "ch_2"}]}}', '{ch_1,ch_2,pi_1}'),
    ('read_payment_ids', 'a charge', '{"object": "charge", "id": "ch_1", "payment_intent": "pi_1"}', '{ch_1,pi_1}'),
    ('read_payment_ids', 'a refund', '{"object": "refund", "id": "re_1", "charge": "ch_1", "payment_intent": null}', '{ch_1}'),
    ('read_payment_ids', 'a dispute with its charge expanded', '{"object": "dispute", "id": "dp_1", "charge": {"id": "ch_1"}, "payment_intent": "pi_1"}', '{ch_1,pi_1}'),
    ('read_payment_ids', 'nothing', '{}', '{}'),
    ('read_payment_invoice_id', 'an invoice', '{"invoice": "in_1"}', 'in_1'),
    ('read_payment_invoice_id', 'expanded', '{"invoice": {"id": "in_1"}}', 'in_1'),
    ('read_payment_invoice_id', 'none', '{"invoice": null}', null),
    ('read_payment_invoice_id', 'since it is gone', '{}', null);

create function spec.read(reader text, object jsonb) returns text language plpgsql stable as $$
declare
    v_read text;
begin
    execute format('select (paidonce.%I($1))::text', reader) into v_read using object;
    return v_read;
end
$$;

set local timezone = 'UTC';
select plan((select count(*)::integer + 4 from shapes));
select is(read(s.reader, s.object), s.expected, format('given %s, when %s reads it, then it is %s', s.shape, s.reader, coalesce(s.expected, 'null')))
from shapes as s;

select is(paidonce.read_metadata(m.object, 'user_id'), m.expected, format('given metadata %s, when a key is read, then it is %s', m.object, coalesce(m.expected, 'null')))
from (values ('{"metadata": {"user_id": " u1 "}}'::jsonb, 'u1'), ('{"metadata": {"user_id": " "}}', null), ('{"metadata": ["user_id"]}', null)) as m (object, expected);

select set_eq($$select proname::text from functions where kind = 'f' and proname ~ '^read_' and proname not in ('read_metadata', 'read_event', 'read_named_ids', 'read_line_goods')$$, 'select distinct reader from shapes',
    'given the functions that read, when they are listed, then each has its shapes here');

select * from finish();
rollback;
