-- What a purchase is worth when its objects tell of it in odd ways.
begin;
set search_path = public, extensions;
\ir support.psql
select plan(16);

create sequence spec.number;
create function spec.tell(type text, second integer, object jsonb) returns text language sql as $$
    select handle_stripe_event(jsonb_build_object(
        'id', 'evt_p' || nextval('spec.number'), 'type', type, 'created', 1767225600 + second, 'livemode', false,
        'data', jsonb_build_object('object', object))) ->> 'outcome'
$$;
create function spec.balance(of_user text) returns numeric language sql as $$
    select coalesce(sum(b.balance), 0) from paidonce.credit_balances as b where b.user_id = of_user
$$;

do $$
begin
    perform tell('customer.created', 0, '{"id": "cus_1", "object": "customer", "metadata": {"user_id": "u1"}}'),
        tell('checkout.session.completed', 1, '{"id": "cs_1", "object": "checkout.session", "customer": "cus_1", "mode": "payment", "status": "complete",
            "payment_status": "paid", "amount_total": 1000, "metadata": {"credits": "100"}, "payment_intent": "pi_1"}');
end
$$;
savepoint bought;

select is(tell('invoice_payment.paid', 2, '{"id": "inpay_1", "object": "invoice_payment", "invoice": "in_1", "status": "paid", "payment": {"payment_intent": "pi_1"}}'),
    'processed', 'given a purchase by a session, when its payment names an invoice that nobody has seen');
select is(balance('u1'), 100::numeric, 'then the id alone takes nothing back');
select is((select count(*) from paidonce.outbox where payload ->> 'object' = 'invoice' and payload ->> 'id' = 'in_1'), 1::bigint, 'and the invoice is asked for');
rollback to bought;

select is(tell('refund.created', 2, '{"id": "re_1", "object": "refund", "amount": 300, "charge": null, "payment_intent": "pi_1", "status": "succeeded"}'), 'processed',
    'given a refund that names the intent only, when the charge then counts it too');
select is(tell('charge.refunded', 2, '{"id": "ch_1", "object": "charge", "customer": "cus_1", "amount": 1000, "amount_captured": 1000, "captured": true,
    "amount_refunded": 300, "payment_intent": "pi_1", "status": "succeeded"}'), 'processed', 'and is processed');
select is(balance('u1'), 70::numeric, 'then it is taken back once');
rollback to bought;

update paidonce.customers set user_id = 'eve', linked_at = now() where customer_id = 'cus_1';
select is(tell('refund.created', 2, '{"id": "re_1", "object": "refund", "amount": 1000, "charge": "ch_1", "payment_intent": "pi_1", "status": "succeeded"}'), 'processed',
    'given a customer whose user was corrected, when a purchase from before is refunded');
select results_eq('select balance(''u1''), balance(''eve'')', 'values (0::numeric, 0::numeric)', 'then it is taken from whom it was given to');
rollback to bought;

insert into paidonce.price_grants (price_id, credits) values ('price_1', 10);
select is(tell('invoice.paid', 3, '{"id": "in_2", "object": "invoice", "customer": "cus_1", "status": "paid", "amount_paid": 1000, "subtotal": 1000, "lines": {"data": [
    {"id": "il_1", "amount": 1000, "quantity": -10, "price": {"id": "price_1"}}, {"id": "il_2", "amount": -500, "quantity": 5, "price": {"id": "price_1"}},
    {"id": "il_3", "amount": 0, "quantity": 5, "price": {"id": "price_1"}}]}}'), 'processed', 'given lines of negative quantity, of negative and of no amount, when their invoice is paid');
select is(balance('u1'), 100::numeric, 'then none of them is worth anything');
rollback to bought;

select is(tell('invoice.paid', 3, jsonb_build_object('id', 'in_3', 'object', 'invoice', 'customer', 'cus_1', 'status', 'paid', 'amount_paid', 1000,
    'lines', jsonb_build_object('data', jsonb_build_array(jsonb_build_object('id', 'il_1', 'amount', 1000, 'quantity', 1,
        'pricing', jsonb_build_object('price_details', jsonb_build_object('price', 'price_9', 'product', repeat('p', 250)))))))), 'processed',
    'given an unknown product with a very long id, when it is bought, then its refetch has a key that fits');
rollback to bought;

select throws_ok($$select paidonce.apply_snapshot('"x"', now(), 0)$$, '22023', null, 'given a snapshot that is no object, when it is applied, then it is refused as such');
select throws_ok($$select paidonce.apply_snapshot('{"id": "cus_1", "object": "customer"}', 'infinity', 0)$$, '22023', null,
    'given a snapshot of no time, when it is applied, then it is refused');
select is_empty('select * from paidonce.audit', 'given that purchase alone, when the audit is read, then everything adds up');
select is(outcome(event('evt_unread', 'payment_method.attached', '{"id": "pm_1", "object": "payment_method"}')), 'ignored', 'given an event that no projection reads');
select lives_ok('select * from paidonce.audit', 'when the audit is read, then it passes over it');

select * from finish();
rollback;
