-- The application of these tests: a paid checkout is answered with an e-mail, a booking and a call of Stripe.

create schema app;

create table app.switches (broken boolean not null default false);
insert into app.switches default values;

create table app.orders (
    order_id bigint generated always as identity primary key,
    event_id text not null
);

create function app.fulfil(event jsonb)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
    if (select s.broken from app.switches as s) then
        raise exception 'thrown on purpose';
    end if;
    insert into app.orders (event_id) values (event ->> 'id');
    perform paidonce.enqueue(event, 'email.welcome', jsonb_build_object(
        'from', 'shop@example.com', 'to', event #>> '{data,object,customer_details,email}', 'subject', 'Welcome — ü'
    ));
    perform paidonce.enqueue(event, 'http.bookkeeping', jsonb_build_object('session', event #>> '{data,object,id}', 'amount', 1.50));
    perform paidonce.enqueue(event, 'stripe.invoice', jsonb_build_object(
        'path', '/v1/invoices', 'params', jsonb_build_object('customer', event #>> '{data,object,customer}')
    ));
end
$$;

select paidonce.on('checkout.session.completed', 'app.fulfil(jsonb)');
