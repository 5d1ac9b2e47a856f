-- The application of the end-to-end tests: effects of its own, most of them without any key of their own, so
-- that an effect which ran twice, or not at all, shows in a count.

create schema app;

-- One row per run of an event's effects. No unique key.
create table app.runs (
    run_id bigint generated always as identity primary key,
    event_id text not null
);

-- Stands for credits granted. No unique key; a test adds one.
create table app.grants (
    grant_id bigint generated always as identity primary key,
    event_id text not null,
    invoice_id text not null,
    user_id text not null,
    amount bigint not null
);

create table app.spends (
    spend_id bigint generated always as identity primary key,
    customer_id text not null
);

create function app.run(event jsonb)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
    insert into app.runs (event_id) values (event ->> 'id');
end
$$;

-- A grant needs a user. Until there is one the event has to wait.
create function app.grant_credits(event jsonb)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_invoice constant text := event #>> '{data,object,id}';
    v_user    constant text := (
        select c.user_id from paidonce.customers as c where c.customer_id = event #>> '{data,object,customer}'
    );
begin
    if v_user is null then
        raise exception 'customer % has no user yet', event #>> '{data,object,customer}' using errcode = 'PO404';
    end if;
    insert into app.grants (event_id, invoice_id, user_id, amount)
    values (event ->> 'id', v_invoice, v_user, (event #>> '{data,object,amount_paid}')::bigint)
    on conflict do nothing;
    perform paidonce.enqueue_once('receipt:' || v_invoice, event, 'email.receipt', jsonb_build_object('invoice', v_invoice));
end
$$;

-- Runs for created only: whoever wins the insert of the subscription, created must have its say.
create function app.provision(event jsonb)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform paidonce.enqueue(event, 'http.provision', jsonb_build_object('subscription', event #>> '{data,object,id}'));
end
$$;

-- Runs for created and updated: one fact of two events, so it has a key of the business.
create function app.welcome(event jsonb)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform paidonce.enqueue_once(
        'welcome:' || (event #>> '{data,object,id}'), event, 'email.welcome',
        jsonb_build_object('subscription', event #>> '{data,object,id}')
    );
end
$$;

create function app.out_of_order()
returns trigger
language plpgsql
as $$
begin
    raise exception 'the effect is out of order';
end
$$;

select paidonce.on('checkout.session.*', 'app.run(jsonb)');
select paidonce.on('customer.*', 'app.run(jsonb)');
select paidonce.on('invoice.*', 'app.run(jsonb)');
select paidonce.on('invoice.paid', 'app.grant_credits(jsonb)');
select paidonce.on('customer.subscription.created', 'app.provision(jsonb)');
select paidonce.on('customer.subscription.created', 'app.welcome(jsonb)');
select paidonce.on('customer.subscription.updated', 'app.welcome(jsonb)');
