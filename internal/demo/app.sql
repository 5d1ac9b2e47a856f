-- The demo's application: a schema of its own, and three effects of its own for Stripe's events.
-- This is all that an app writes: functions that change tables or ask for actions, and their registration.
--
-- No table here has a unique key. An effect that ran twice would leave two rows, and the demo would show it.

create schema app;

create table app.receipts (
    receipt_id bigint generated always as identity primary key,
    invoice_id text not null,
    amount bigint not null,
    currency text not null
);

create table app.bookings (
    booking_id bigint generated always as identity primary key,
    invoice_id text not null,
    amount bigint not null
);

-- What stands in for the world: somebody's service is down while its switch is on.
create table app.switches (
    name text primary key,
    down boolean not null
);
insert into app.switches (name, down) values ('bookkeeping', true);

create function app.welcome(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    perform paidonce.enqueue(event, 'email.welcome', jsonb_build_object(
        'from', 'shop@example.com', 'to', event #>> '{data,object,customer_details,email}',
        'subject', 'Welcome', 'text', 'Your subscription has begun.'
    ));
end
$$;

create function app.receipt(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    insert into app.receipts (invoice_id, amount, currency)
    values (
        event #>> '{data,object,id}',
        (event #>> '{data,object,amount_paid}')::bigint,
        event #>> '{data,object,currency}'
    );
    perform paidonce.enqueue(event, 'email.receipt', jsonb_build_object(
        'from', 'shop@example.com', 'to', event #>> '{data,object,customer_email}',
        'subject', 'Your receipt', 'text', 'We have received your payment.'
    ));
end
$$;

-- Does its work first and raises afterwards, so that there is something to undo.
create function app.flaky(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    insert into app.bookings (invoice_id, amount)
    values (event #>> '{data,object,id}', (event #>> '{data,object,total}')::bigint);
    perform paidonce.enqueue(event, 'http.bookkeeping', jsonb_build_object(
        'invoice', event #>> '{data,object,id}'
    ));
    if exists (select from app.switches as s where s.name = 'bookkeeping' and s.down) then
        raise exception 'the bookkeeping service is down';
    end if;
end
$$;

revoke all on all functions in schema app from public;

select paidonce.on('checkout.session.completed', 'app.welcome(jsonb)');
select paidonce.on('invoice.paid', 'app.receipt(jsonb)');
select paidonce.on('invoice.finalized', 'app.flaky(jsonb)');

-- What the price is worth, besides the feature that its lookup_key names.
insert into paidonce.price_grants (price_id, credits) values ('price_1SdemoProMonthly000001', 500);
