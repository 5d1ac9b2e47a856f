-- An application beside paidonce: a table of its own and the effects that Stripe's events have on it.
-- docs/effects.md explains it line by line. Apply it after paidonce's migrations, as the role that owns them.

create schema app;

-- One row per user: what the product looks up at sign-in.
create table app.workspaces (
    owner text primary key,
    plan text not null,
    seats bigint not null,
    open boolean not null
);

-- The month's books. Once closed nothing may be booked any more.
create table app.books (
    month date primary key,
    closed boolean not null default false
);

create table app.bookings (
    charge_id text primary key,
    month date not null references app.books (month),
    refunded bigint not null
);

-- customer.subscription.*: opens, changes and closes the workspace.
--
-- The event says which subscription to look at, the tables say how it stands: they have been brought up to date
-- before any effect of yours runs, and they hold the newest statement even when this event is a late one. The
-- effect computes how the workspace must now be; it does not count up or down from how it was.
create function app.open_workspace(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_owner pg_catalog.text;
begin
    select c.user_id into v_owner
    from paidonce.subscriptions as s
    join paidonce.customers as c on c.customer_id = s.customer_id
    where s.subscription_id = event #>> '{data,object,id}';

    -- Not yet: nobody knows whose customer this is. The event waits, and runs by itself as soon as it is known.
    if v_owner is null then
        raise exception 'the customer of % belongs to nobody yet', event #>> '{data,object,id}' using errcode = 'PO404';
    end if;

    insert into app.workspaces as w (owner, plan, seats, open)
    select
        v_owner,
        coalesce(string_agg(i.price_id, '+' order by i.price_id) filter (where a.grants), 'none'),
        coalesce(sum(i.quantity) filter (where a.grants), 0),
        coalesce(bool_or(a.grants), false)
    from paidonce.subscription_access as a
    join paidonce.subscription_items as i on i.subscription_id = a.subscription_id
    where a.user_id = v_owner
    on conflict (owner) do update
    set plan = excluded.plan, seats = excluded.seats, open = excluded.open;
end
$$;

-- customer.subscription.*: one welcome per subscription, however many events show it active. Asking the table keeps a
-- late "created" of a subscription that is over from welcoming anybody.
create function app.welcome(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    perform paidonce.enqueue_once('welcome:' || s.subscription_id, event, 'email.welcome', jsonb_build_object('subscription', s.subscription_id))
    from paidonce.subscription_access as s
    where s.subscription_id = event #>> '{data,object,id}' and s.grants;
end
$$;

-- customer.subscription.trial_will_end comes three days before the end, and also when a trial is ended at once: two
-- letters. Each event has its own, so the event's own key will do.
create function app.trial_notice(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_left constant double precision := (event #>> '{data,object,trial_end}')::double precision - (event ->> 'created')::double precision;
begin
    perform paidonce.enqueue(
        event, case when v_left < 3600 then 'email.trial_over' else 'email.trial_ending' end,
        jsonb_build_object('subscription', event #>> '{data,object,id}')
    );
end
$$;

-- invoice.paid, invoice.payment_succeeded and charge.succeeded all tell of one payment. One receipt per invoice: the key
-- is the invoice, so whichever comes first writes it. Charges name their invoice only before API 2025-03-31; where one
-- does not, the invoice's own events speak for it.
create function app.receipt(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_invoice constant pg_catalog.text := case event #>> '{data,object,object}'
        when 'invoice' then event #>> '{data,object,id}'
        else event #>> '{data,object,invoice}'
    end;
begin
    if v_invoice is not null then
        perform paidonce.enqueue_once('receipt:' || v_invoice, event, 'email.receipt', jsonb_build_object('invoice', v_invoice));
    end if;
end
$$;

-- invoice.payment_failed comes once per attempt. One letter per invoice and attempt, and none for a subscription that is over.
create function app.dun(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    perform paidonce.enqueue_once(
        format('dunning:%s:%s', n.invoice_id, event #>> '{data,object,attempt_count}'), event, 'email.payment_failed',
        jsonb_build_object('invoice', n.invoice_id, 'attempt', event #> '{data,object,attempt_count}')
    )
    from paidonce.invoices as n
    where n.invoice_id = event #>> '{data,object,id}'
        and not exists (
            select from paidonce.subscriptions as s
            where s.subscription_id = n.subscription_id and s.status in ('canceled', 'incomplete_expired'));
end
$$;

-- charge.refunded: books the refund in its month. Fails while the month is closed, with all that it did; Stripe's next
-- delivery, or paidonce.replay once the month is open again, does it.
create function app.book_refund(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_month constant pg_catalog.date := date_trunc('month', to_timestamp((event ->> 'created')::bigint) at time zone 'UTC');
begin
    insert into app.books (month) values (v_month) on conflict (month) do nothing;

    insert into app.bookings as b (charge_id, month, refunded)
    select p.payment_id, v_month, p.amount_refunded from paidonce.payments as p where p.payment_id = event #>> '{data,object,id}'
    on conflict (charge_id) do update
    set refunded = excluded.refunded;

    if exists (select from app.books as k where k.month = v_month and k.closed) then
        raise exception 'the books of % are closed', to_char(v_month, 'YYYY-MM');
    end if;
end
$$;

-- Nobody but the schema's owner calls these: paidonce does, as its owner.
revoke all on all functions in schema app from public;

select paidonce.on('customer.subscription.*', 'app.open_workspace(jsonb)');
select paidonce.on('customer.subscription.*', 'app.welcome(jsonb)');
select paidonce.on('customer.subscription.trial_will_end', 'app.trial_notice(jsonb)');
select paidonce.on('invoice.paid', 'app.receipt(jsonb)');
select paidonce.on('invoice.payment_succeeded', 'app.receipt(jsonb)');
select paidonce.on('charge.succeeded', 'app.receipt(jsonb)');
select paidonce.on('invoice.payment_failed', 'app.dun(jsonb)');
select paidonce.on('charge.refunded', 'app.book_refund(jsonb)');
