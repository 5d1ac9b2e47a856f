-- The functions that read Stripe's objects, and every shape they have had: one row per shape.
begin;
set search_path = public, extensions;
\ir support.psql

-- field: which of the facts that a reader finds.
create table spec.shapes (reader text, field text, shape text, object jsonb, expected text);
insert into shapes values
    ('read_object_id', null, 'an id', '"cus_1"', 'cus_1'),
    ('read_object_id', null, 'an expanded object', '{"id": "cus_1", "object": "customer"}', 'cus_1'),
    ('read_object_id', null, 'a deleted object', '{"id": "cus_1", "deleted": true}', 'cus_1'),
    ('read_object_id', null, 'null', 'null', null),
    ('read_object_id', null, 'nothing', null, null),
    ('read_object_id', null, 'a blank', '""', null),
    ('read_object_id', null, 'a number', '1', null),
    ('read_object_id', null, 'an array', '["cus_1"]', null),
    ('read_object_id', null, 'an object without id', '{}', null),
    ('read_object_id', null, 'an id that is a number', '{"id": 1}', null),
    ('read_object_id', null, 'a blank id', '{"id": ""}', null),

    ('read_object', null, 'an event', '{"data": {"object": {"id": "in_1"}}}', '{"id": "in_1"}'),
    ('read_object', null, 'a thin event', '{"object": "v2.core.event", "related_object": {"id": "in_1", "type": "invoice"}}', '{"id": "in_1", "object": "invoice"}'),
    ('read_account', null, 'an event of a connected account', '{"account": "acct_1"}', 'acct_1'),
    ('read_account', null, 'a thin event of one', '{"context": "acct_1"}', 'acct_1'),
    ('read_account', null, 'an event of the platform', '{"account": null}', null),
    ('read_customer_id', null, 'an object of a customer', '{"object": "invoice", "id": "in_1", "customer": "cus_1"}', 'cus_1'),
    ('read_customer_id', null, 'an object of an expanded customer', '{"object": "invoice", "customer": {"id": "cus_1", "object": "customer"}}', 'cus_1'),
    ('read_customer_id', null, 'a customer', '{"object": "customer", "id": "cus_1"}', 'cus_1'),
    ('read_customer_id', null, 'a guest', '{"object": "checkout.session", "customer": null}', null),
    ('read_customer_id', null, 'an object that belongs to nobody', '{"object": "product", "id": "prod_1"}', null),
    ('read_customer_id', null, 'nothing', null, null),
    ('read_customer_id', null, 'a string', '"cus_1"', null),

    ('read_event_id', null, 'an event', '{"id": "evt_1", "type": "a", "data": {"object": {}}}', 'evt_1'),

    ('read_flag', null, 'true', 'true', 'true'),
    ('read_flag', null, 'false', 'false', 'false'),
    ('read_flag', null, 'null', 'null', null),
    ('read_flag', null, 'nothing', null, null),
    ('read_flag', null, 'a string', '"true"', null),
    ('read_flag', null, 'a number', '1', null),

    ('read_integer', null, 'a number', '42', '42'),
    ('read_integer', null, 'a negative one', '-1', '-1'),
    ('read_integer', null, 'a whole number with a point', '2.0', '2'),
    ('read_integer', null, 'a fraction', '1.9', '1'),
    ('read_integer', null, 'the greatest', '9223372036854775807', '9223372036854775807'),
    ('read_integer', null, 'one more than the greatest', '9223372036854775808', null),
    ('read_integer', null, 'something huge', '1e400', null),
    ('read_integer', null, 'a string', '"42"', null),
    ('read_integer', null, 'null', 'null', null),
    ('read_integer', null, 'nothing', null, null),
    ('read_integer', null, 'true', 'true', null),

    ('read_time', null, 'seconds', '1700000000', '2023-11-14 22:13:20+00'),
    ('read_time', null, 'zero', '0', '1970-01-01 00:00:00+00'),
    ('read_time', null, 'null', 'null', null),
    ('read_time', null, 'nothing', null, null),
    ('read_time', null, 'a string', '"1700000000"', null),
    ('read_time', null, 'the year 9999', '253402300799', '9999-12-31 23:59:59+00'),
    ('read_time', null, 'milliseconds taken for seconds', '1700000000000', null),
    ('read_time', null, 'before 1970', '-1', null),
    ('read_time', null, 'something huge', '1e400', null),
    ('read_time', null, 'an object', '{}', null),

    ('read_subscription', 'pause_behavior', 'no pause', '{"pause_collection": null}', null),
    ('read_subscription', 'pause_behavior', 'a version before pauses', '{}', null),
    ('read_subscription', 'pause_behavior', 'a pause', '{"pause_collection": {"behavior": "void", "resumes_at": null}}', 'void'),

    ('read_subscription', 'cancel_at', 'nothing scheduled', '{"cancel_at": null, "cancel_at_period_end": false, "current_period_end": 1700000000}', null),
    ('read_subscription', 'cancel_at', 'cancel_at alone', '{"cancel_at": 1700000000, "cancel_at_period_end": false}', '2023-11-14 22:13:20+00'),
    ('read_subscription', 'cancel_at', 'the flag alone', '{"cancel_at_period_end": true, "current_period_end": 1700000000}', '2023-11-14 22:13:20+00'),
    ('read_subscription', 'cancel_at', 'the flag and the period of the items', '{"cancel_at_period_end": true, "items": {"data": [{"id": "si_1", "current_period_end": 1700000000}]}}', '2023-11-14 22:13:20+00'),
    ('read_subscription', 'cancel_at', 'the flag and cancel_at', '{"cancel_at": 0, "cancel_at_period_end": true, "current_period_end": 1700000000}', '1970-01-01 00:00:00+00'),
    ('read_subscription', 'cancel_at', 'the flag without any period', '{"cancel_at_period_end": true}', null),
    ('read_subscription', 'cancel_at', 'a flag that is none', '{"cancel_at_period_end": "true", "current_period_end": 1700000000}', null),

    ('read_subscription', 'current_period_start, current_period_end', 'of the subscription', '{"current_period_start": 0, "current_period_end": 1700000000}', '("1970-01-01 00:00:00+00","2023-11-14 22:13:20+00")'),
    ('read_subscription', 'current_period_start, current_period_end', 'of an item', '{"items": {"data": [{"current_period_start": 0, "current_period_end": 1700000000}]}}', '("1970-01-01 00:00:00+00","2023-11-14 22:13:20+00")'),
    ('read_subscription', 'current_period_start, current_period_end', 'of both', '{"current_period_start": 0, "current_period_end": 1700000000, "items": {"data": [{"current_period_end": 1}]}}', '("1970-01-01 00:00:00+00","2023-11-14 22:13:20+00")'),
    ('read_subscription', 'current_period_start, current_period_end', 'of the item that ends first',
        '{"items": {"data": [{"current_period_start": 2, "current_period_end": 1800000000}, {"current_period_start": 0, "current_period_end": 1700000000}, {}]}}', '("1970-01-01 00:00:00+00","2023-11-14 22:13:20+00")'),
    ('read_subscription', 'current_period_start, current_period_end', 'of nothing', '{}', '(,)'),
    ('read_subscription', 'current_period_start, current_period_end', 'of items that are none', '{"items": {"data": "x"}}', '(,)'),
    ('read_subscription', 'current_period_start, current_period_end', 'of null', null, '(,)'),


    ('read_subscription_items', 'item_id, price_id, quantity', 'items', '{"id": "sub_1", "items": {"data": [{"id": "si_1", "quantity": 3}]}, "plan": {"id": "p"}}', '(si_1,,3)'),
    ('read_subscription_items', 'item_id, price_id, quantity', 'a plan', '{"id": "sub_1", "plan": {"id": "p"}, "quantity": 2}', '(sub_1:plan,p,2)'),
    ('read_subscription_items', 'item_id, price_id, quantity', 'a plan and no items', '{"id": "sub_1", "plan": {"id": "p"}, "items": {"data": []}}', '(sub_1:plan,p,)'),
    ('read_subscription_items', 'item_id', 'several items and a plan of null', '{"id": "sub_1", "plan": null, "items": {"data": [{"id": "si_2"}, {"id": "si_1"}]}}', 'si_1 si_2'),
    ('read_subscription_items', 'item_id', 'one item twice and one without id', '{"items": {"data": [{"id": "si_1"}, {"id": "si_1", "quantity": 2}, {"quantity": 1}]}}', 'si_1'),
    ('read_subscription_items', 'item_id', 'neither', '{}', null),
    ('read_subscription_items', 'item_id', 'items that are none', '{"items": {"data": {}}}', null),
    ('read_subscription_items', 'item_id', 'nothing', null, null),
    ('read_subscription_items', 'current_period_start, current_period_end', 'an item with its period', '{"items": {"data": [{"id": "si_1", "current_period_start": 0, "current_period_end": 1700000000}]}}', '("1970-01-01 00:00:00+00","2023-11-14 22:13:20+00")'),
    ('read_subscription_items', 'quantity, current_period_end', 'an item of wrong types', '{"items": {"data": [{"id": "si_1", "quantity": "3", "current_period_end": 1e400}]}}', '(,)'),
    ('read_subscription', 'customer_id, status', 'a subscription', '{"customer": "cus_1", "status": "active"}', '(cus_1,active)'),
    ('read_subscription', 'customer_id, status', 'one whose customer is expanded, without a status', '{"customer": {"id": "cus_1"}}', '(cus_1,unknown)'),
    ('read_subscription', 'customer_id, created, trial_end, canceled_at, ended_at', 'wrong types', '{"customer": {"id": 1}, "created": "1", "trial_end": -1, "canceled_at": 1e400, "ended_at": [1]}', '(,,,,)'),
    ('read_subscription', 'created, trial_end', 'times', '{"created": 1700000000, "trial_end": 0}', '("2023-11-14 22:13:20+00","1970-01-01 00:00:00+00")'),

    ('read_subscription_items', 'price_id', 'an expanded price', '{"items": {"data": [{"id": "si_1", "price": {"id": "price_1"}, "plan": {"id": "plan_1"}}]}}', 'price_1'),
    ('read_subscription_items', 'price_id', 'a price by id', '{"items": {"data": [{"id": "si_1", "price": "price_1"}]}}', 'price_1'),
    ('read_subscription_items', 'price_id', 'a plan', '{"items": {"data": [{"id": "si_1", "plan": {"id": "plan_1"}}]}}', 'plan_1'),
    ('read_subscription_items', 'price_id', 'a price of null and a plan', '{"items": {"data": [{"id": "si_1", "price": null, "plan": {"id": "plan_1"}}]}}', 'plan_1'),
    ('read_subscription_items', 'price_id', 'neither', '{"items": {"data": [{"id": "si_1"}]}}', null),

    ('read_subscription_items', 'product_id', 'an expanded price', '{"items": {"data": [{"id": "si_1", "price": {"product": "prod_1"}}]}}', 'prod_1'),
    ('read_subscription_items', 'product_id', 'an expanded product', '{"items": {"data": [{"id": "si_1", "price": {"product": {"id": "prod_1"}}}]}}', 'prod_1'),
    ('read_subscription_items', 'product_id', 'a plan', '{"items": {"data": [{"id": "si_1", "plan": {"product": "prod_1"}}]}}', 'prod_1'),
    ('read_subscription_items', 'product_id', 'a price by id', '{"items": {"data": [{"id": "si_1", "price": "price_1"}]}}', null),
    ('read_subscription_items', 'product_id', 'a plan before products', '{"items": {"data": [{"id": "si_1", "plan": {"id": "gold", "name": "Gold"}}]}}', null),

    ('read_subscription_items', 'lookup_key', 'an expanded price', '{"items": {"data": [{"id": "si_1", "price": {"lookup_key": "pro"}}]}}', 'pro'),
    ('read_subscription_items', 'lookup_key', 'a blank', '{"items": {"data": [{"id": "si_1", "price": {"lookup_key": ""}}]}}', null),
    ('read_subscription_items', 'lookup_key', 'none', '{"items": {"data": [{"id": "si_1", "price": {"lookup_key": null}}]}}', null),
    ('read_subscription_items', 'lookup_key', 'a price by id', '{"items": {"data": [{"id": "si_1", "price": "price_1"}]}}', null),

    ('read_price', 'credits', 'a number in metadata', '{"metadata": {"credits": "100"}}', '100'),
    ('read_price', 'credits', 'blanks around it', '{"metadata": {"credits": " 100 "}}', '100'),
    ('read_price', 'credits', 'a JSON number', '{"metadata": {"credits": 100}}', '100'),
    ('read_price', 'credits', 'zero', '{"metadata": {"credits": "0"}}', '0'),
    ('read_price', 'credits', 'a negative one', '{"metadata": {"credits": "-5"}}', null),
    ('read_price', 'credits', 'a fraction', '{"metadata": {"credits": "1.5"}}', null),
    ('read_price', 'credits', 'words', '{"metadata": {"credits": "many"}}', null),
    ('read_price', 'credits', 'too many', '{"metadata": {"credits": "9999999999999999999"}}', null),
    ('read_price', 'credits', 'none', '{"metadata": {}}', null),
    ('read_price', 'credits', 'no metadata', '{"metadata": null}', null),

    ('read_product', 'features', 'one feature', '{"metadata": {"feature": "pro"}}', '{pro}'),
    ('read_product', 'features', 'a list', '{"metadata": {"features": "b, a,,b ,"}}', '{a,b}'),
    ('read_product', 'features', 'both', '{"metadata": {"feature": "c", "features": "a"}}', '{a,c}'),
    ('read_product', 'features', 'none', '{"metadata": {}}', '{}'),
    ('read_product', 'features', 'no metadata', '{}', '{}'),

    ('read_invoice_status', null, 'a status', '{"status": "open", "paid": false}', 'open'),
    ('read_invoice_status', null, 'paid', '{"status": "paid", "paid": true}', 'paid'),
    ('read_invoice_status', null, 'paid, by the flag alone', '{"paid": true, "closed": true}', 'paid'),
    ('read_invoice_status', null, 'closed, before there was a status', '{"paid": false, "closed": true}', 'void'),
    ('read_invoice_status', null, 'forgiven, before there was a status', '{"paid": false, "closed": true, "forgiven": true}', 'uncollectible'),
    ('read_invoice_status', null, 'open, before there was a status', '{"paid": false, "closed": false, "forgiven": false}', 'open'),
    ('read_invoice_status', null, 'void, since the flag is gone', '{"status": "void"}', 'void'),
    ('read_invoice_status', null, 'nothing', '{}', null),

    ('read_invoice', 'amount_paid', 'an amount', '{"amount_paid": 500, "amount_due": 700}', '500'),
    ('read_invoice', 'amount_paid', 'paid, by the flag alone', '{"paid": true, "amount_due": 700}', '700'),
    ('read_invoice', 'amount_paid', 'not paid', '{"paid": false, "amount_due": 700}', null),
    ('read_invoice', 'amount_paid', 'a trial', '{"amount_paid": 0, "amount_due": 0, "status": "paid"}', '0'),

    ('read_invoice', 'subscription_id', 'the old place', '{"subscription": "sub_1"}', 'sub_1'),
    ('read_invoice', 'subscription_id', 'expanded', '{"subscription": {"id": "sub_1"}}', 'sub_1'),
    ('read_invoice', 'subscription_id', 'the new place', '{"parent": {"type": "subscription_details", "subscription_details": {"subscription": "sub_1"}}}', 'sub_1'),
    ('read_invoice', 'subscription_id', 'a one-off invoice', '{"parent": null}', null),
    ('read_invoice', 'subscription_id', 'an old one-off invoice', '{"subscription": null}', null),

    ('read_invoice', 'payment_ids', 'the old places', '{"payment_intent": "pi_1", "charge": "ch_1"}', '{ch_1,pi_1}'),
    ('read_invoice', 'payment_ids', 'expanded', '{"payment_intent": {"id": "pi_1"}}', '{pi_1}'),
    ('read_invoice', 'payment_ids', 'the new place', '{"payments": {"data": [{"payment": {"type": "payment_intent", "payment_intent": "pi_2"}}, {"payment": {"type": "charge", "charge": "ch_2"}}]}}', '{ch_2,pi_2}'),
    ('read_invoice', 'payment_ids', 'the same in both', '{"payment_intent": "pi_1", "payments": {"data": [{"payment": {"payment_intent": {"id": "pi_1"}}}]}}', '{pi_1}'),
    ('read_invoice', 'payment_ids', 'none', '{"payments": null}', '{}'),
    ('read_invoice', 'payment_ids', 'payments that are none', '{"payments": {"data": [1, null, "x"]}}', '{}'),

    ('read_invoice_payment', 'payment_ids', 'an intent', '{"payment": {"type": "payment_intent", "payment_intent": "pi_1"}}', '{pi_1}'),
    ('read_invoice_payment', 'payment_ids', 'a charge', '{"payment": {"type": "charge", "charge": "ch_1"}}', '{ch_1}'),
    ('read_invoice_payment', 'payment_ids', 'neither', '{}', '{}'),

    ('read_invoice_lines', 'price_id', 'an expanded price', '{"lines": {"data": [{"id": "il_1", "price": {"id": "price_1"}, "plan": {"id": "plan_1"}}]}}', 'price_1'),
    ('read_invoice_lines', 'price_id', 'a plan', '{"lines": {"data": [{"id": "il_1", "plan": {"id": "plan_1"}}]}}', 'plan_1'),
    ('read_invoice_lines', 'price_id', 'the new place', '{"lines": {"data": [{"id": "il_1", "pricing": {"price_details": {"price": "price_1", "product": "prod_1"}}}]}}', 'price_1'),
    ('read_invoice_lines', 'price_id', 'none', '{"lines": {"data": [{"id": "il_1", "pricing": null}]}}', null),
    ('read_invoice_lines', 'product_id', 'an expanded price', '{"lines": {"data": [{"id": "il_1", "price": {"product": "prod_1"}}]}}', 'prod_1'),
    ('read_invoice_lines', 'product_id', 'a plan', '{"lines": {"data": [{"id": "il_1", "plan": {"product": "prod_1"}}]}}', 'prod_1'),
    ('read_invoice_lines', 'product_id', 'the new place', '{"lines": {"data": [{"id": "il_1", "pricing": {"price_details": {"price": "price_1", "product": "prod_1"}}}]}}', 'prod_1'),
    ('read_invoice_lines', 'product_id', 'none', '{"lines": {"data": [{"id": "il_1"}]}}', null),
    ('read_invoice_lines', 'proration', 'the old place', '{"lines": {"data": [{"id": "il_1", "proration": true}]}}', 'true'),
    ('read_invoice_lines', 'proration', 'the new place, of an item', '{"lines": {"data": [{"id": "il_1", "parent": {"subscription_item_details": {"proration": true}}}]}}', 'true'),
    ('read_invoice_lines', 'proration', 'the new place, of an invoice item', '{"lines": {"data": [{"id": "il_1", "parent": {"invoice_item_details": {"proration": true}}}]}}', 'true'),
    ('read_invoice_lines', 'proration', 'false', '{"lines": {"data": [{"id": "il_1", "proration": false}]}}', 'false'),
    ('read_invoice_lines', 'proration', 'nothing', '{"lines": {"data": [{"id": "il_1"}]}}', 'false'),
    ('read_invoice_lines', 'subscription_id', 'the old place', '{"lines": {"data": [{"id": "il_1", "subscription": "sub_1"}]}}', 'sub_1'),
    ('read_invoice_lines', 'subscription_id', 'the new place, of an item', '{"lines": {"data": [{"id": "il_1", "parent": {"subscription_item_details": {"subscription": "sub_1"}}}]}}', 'sub_1'),
    ('read_invoice_lines', 'subscription_id', 'the new place, of an invoice item', '{"lines": {"data": [{"id": "il_1", "parent": {"invoice_item_details": {"subscription": "sub_1"}}}]}}', 'sub_1'),
    ('read_invoice_lines', 'subscription_id', 'a line that has the subscription''s id', '{"lines": {"data": [{"id": "sub_1"}]}}', 'sub_1'),
    ('read_invoice_lines', 'subscription_id', 'none', '{"lines": {"data": [{"id": "il_1"}]}}', null),

    ('read_invoice_lines', 'price_stated, stated_credits', 'an expanded price', '{"lines": {"data": [{"id": "il_1", "price": {"id": "price_1", "metadata": {"credits": "5"}}}]}}', '(t,5)'),
    ('read_invoice_lines', 'price_stated, stated_credits', 'a plan', '{"lines": {"data": [{"id": "il_1", "plan": {"id": "plan_1"}}]}}', '(t,)'),
    ('read_invoice_lines', 'price_stated, stated_credits', 'the new place, by id', '{"lines": {"data": [{"id": "il_1", "pricing": {"price_details": {"price": "price_1"}}}]}}', '(f,)'),
    ('read_invoice_lines', 'price_stated, stated_credits', 'the new place, expanded', '{"lines": {"data": [{"id": "il_1", "pricing": {"price_details": {"price": {"id": "price_1", "metadata": {"credits": "7"}}}}}]}}', '(t,7)'),
    ('read_invoice_lines', 'price_stated, stated_credits', 'none', '{"lines": {"data": [{"id": "il_1", "price": null, "plan": null}]}}', '(f,)'),
    ('read_invoice_lines', 'line_id, amount, quantity', 'a line', '{"lines": {"data": [{"id": "il_1", "amount": -500, "quantity": 2.0}]}}', '(il_1,-500,2)'),
    ('read_invoice_lines', 'line_id, amount, quantity', 'a line of wrong types', '{"lines": {"data": [{"id": "il_1", "amount": "5", "quantity": 1e400}]}}', '(il_1,,)'),
    ('read_invoice_lines', 'line_id', 'lines that are none', '{"lines": {"data": "x"}}', null),
    ('read_invoice_lines', 'line_id', 'one line twice and one without id', '{"lines": {"data": [{"id": "il_2"}, {"id": "il_1"}, {"id": "il_1", "amount": 1}, {}]}}', 'il_1 il_2'),
    ('read_invoice', 'status', 'the flags of an old version', '{"paid": false, "forgiven": true}', 'uncollectible'),
    ('read_invoice', 'created', 'a date, before there was created', '{"date": 1700000000}', '2023-11-14 22:13:20+00'),
    ('read_invoice', 'customer_id, subtotal, total, created, payment_ids', 'wrong types', '{"customer": 1, "subtotal": "1", "total": 9223372036854775808, "created": 253402300800, "payment_intent": 1}', '(,,,,{})'),
    ('read_invoice_payment', 'invoice_id, status', 'an invoice payment', '{"invoice": "in_1", "status": "paid"}', '(in_1,paid)'),
    ('read_customer', 'email, name', 'a customer', '{"email": "a@example.com", "name": "A"}', '(a@example.com,A)'),
    ('read_checkout_session', 'customer_id, user_id, invoice_id', 'a reference', '{"customer": "cus_1", "client_reference_id": "u1", "metadata": {"user_id": "u2"}, "invoice": {"id": "in_1"}}', '(cus_1,u1,in_1)'),
    ('read_checkout_session', 'customer_id, user_id, invoice_id', 'metadata and a blank reference', '{"client_reference_id": "", "metadata": {"user_id": " u2 "}}', '(,u2,)'),
    ('read_checkout_session', 'mode, status, payment_status, amount_total, currency, credits', 'a session', '{"mode": "payment", "status": "complete", "payment_status": "paid", "amount_total": 500, "currency": "eur", "metadata": {"credits": "5"}}', '(payment,complete,paid,500,eur,5)'),
    ('read_payment', 'kind, user_id, credits', 'an intent', '{"object": "payment_intent", "metadata": {"user_id": "u1", "credits": "5"}}', '(payment_intent,u1,5)'),
    ('read_payment', 'kind, amount_refunded', 'a charge', '{"object": "charge", "amount_refunded": 100}', '(charge,100)'),
    ('read_refund', 'charge_id, payment_intent_id, amount, payment_ids', 'a refund', '{"charge": "ch_1", "payment_intent": {"id": "pi_1"}, "amount": 5}', '(ch_1,pi_1,5,"{ch_1,pi_1}")'),
    ('read_refund', 'charge_id, payment_intent_id, amount, payment_ids', 'a refund of wrong types', '{"charge": [], "amount": "5"}', '(,,,{})'),
    ('read_dispute', 'charge_id, payment_intent_id, reason, payment_ids', 'a dispute', '{"charge": {"id": "ch_1"}, "payment_intent": null, "reason": "fraudulent"}', '(ch_1,,fraudulent,{ch_1})'),
    ('read_price', 'active, product_id, lookup_key, unit_amount, recurring_interval', 'a price', '{"active": false, "product": "prod_1", "lookup_key": "pro", "unit_amount": 500, "recurring": {"interval": "month"}}', '(f,prod_1,pro,500,month)'),
    ('read_price', 'active, product_id, lookup_key, unit_amount, recurring_interval', 'a plan', '{"product": {"id": "prod_1"}, "lookup_key": "", "amount": 700, "interval": "year"}', '(t,prod_1,,700,year)'),
    ('read_product', 'active, name', 'a product', '{"name": "Gold"}', '(t,Gold)'),
    ('read_entitlement_summary', 'features, complete', 'a list', '{"entitlements": {"data": [{"lookup_key": "b"}, {"lookup_key": "a"}, {"lookup_key": ""}], "has_more": false}}', '("{a,b}",t)'),
    ('read_entitlement_summary', 'features, complete', 'a list that goes on', '{"entitlements": {"data": "x", "has_more": true}}', '({},f)'),

    ('read_payment', 'amount_paid', 'an intent', '{"amount": 700, "amount_received": 500}', '500'),
    ('read_payment', 'amount_paid', 'a charge', '{"amount": 700, "amount_captured": 600, "captured": true}', '600'),
    ('read_payment', 'amount_paid', 'a charge before amount_captured', '{"amount": 700, "captured": true}', '700'),
    ('read_payment', 'amount_paid', 'one that is not captured', '{"amount": 700, "captured": false}', null),
    ('read_payment', 'amount_paid', 'nothing', '{}', null),
    ('read_payment_ids', null, 'an intent', '{"object": "payment_intent", "id": "pi_1", "latest_charge": "ch_1"}', '{ch_1,pi_1}'),
    ('read_payment_ids', null, 'an intent that lists its charges', '{"object": "payment_intent", "id": "pi_1", "charges": {"data": [{"id": "ch_1"}, {"id": "ch_2"}]}}', '{ch_1,ch_2,pi_1}'),
    ('read_payment_ids', null, 'a charge', '{"object": "charge", "id": "ch_1", "payment_intent": "pi_1"}', '{ch_1,pi_1}'),
    ('read_payment_ids', null, 'a refund', '{"object": "refund", "id": "re_1", "charge": "ch_1", "payment_intent": null}', '{ch_1}'),
    ('read_payment_ids', null, 'a dispute with its charge expanded', '{"object": "dispute", "id": "dp_1", "charge": {"id": "ch_1"}, "payment_intent": "pi_1"}', '{ch_1,pi_1}'),
    ('read_payment_ids', null, 'nothing', '{}', '{}'),
    ('read_payment', 'invoice_id', 'an invoice', '{"invoice": "in_1"}', 'in_1'),
    ('read_payment', 'invoice_id', 'expanded', '{"invoice": {"id": "in_1"}}', 'in_1'),
    ('read_payment', 'invoice_id', 'none', '{"invoice": null}', null),
    ('read_payment', 'invoice_id', 'since it is gone', '{}', null);

-- What a reader finds: the field or fields, of several rows those of each; without a field, what it returns.
create function spec.read(reader text, field text, object jsonb) returns text language plpgsql stable as $$
declare
    v_user text := case when reader in ('read_checkout_session', 'read_payment') then ', ''user_id''' else '' end;
    v_read text;
begin
    if field is null then
        execute format('select (paidonce.%I($1))::text', reader) into v_read using object;
    else
        execute format('select string_agg((%s)::text, '' '') from paidonce.%I($1%s) as r',
            case when field ~ ',' then format('row(%s)', field) else field end, reader, v_user) into v_read using object;
    end if;
    return v_read;
end
$$;

set local timezone = 'UTC';
select plan((select count(*)::integer + 6 from shapes));
select is(read(s.reader, s.field, s.object), s.expected, format('given %s, when %s reads it, then %s is %s', s.shape, s.reader, coalesce(s.field, 'it'), coalesce(s.expected, 'null')))
from shapes as s;

select is(paidonce.read_metadata(m.object, 'user_id'), m.expected, format('given metadata %s, when a key is read, then it is %s', m.object, coalesce(m.expected, 'null')))
from (values ('{"metadata": {"user_id": " u1 "}}'::jsonb, 'u1'), ('{"metadata": {"user_id": " "}}', null), ('{"metadata": ["user_id"]}', null)) as m (object, expected);

select set_eq($$select proname::text from functions where kind = 'f' and proname ~ '^read_' and proname not in ('read_metadata', 'read_event', 'read_named_ids', 'read_line_goods')$$, 'select distinct reader from shapes',
    'given the functions that read, when they are listed, then each has its shapes here');

-- One list of what is kept.
create view spec.projections as
    select distinct m[1] as name from functions as f, regexp_matches(f.source, 'then\s+''(\w+)''', 'g') as m where f.proname = 'projection_of';
select set_eq('select ''project_'' || name from projections', $$select proname::text from functions where proname ~ '^project_' and proname <> 'project_event'$$,
    'given the list of projections, when the functions are listed, then each has its own, and none is left over');
select set_eq('select (paidonce.kept_in(p.name)).relation::oid from projections as p where (paidonce.kept_in(p.name)).key is not null',
    'select inhrelid from pg_inherits where inhparent = ''paidonce.objects''::regclass',
    'given the tables that objects are kept in, when the list is read, then each is found by the name of a projection');

select * from finish();
rollback;
