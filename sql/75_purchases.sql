-- What was bought and how it was paid: checkout sessions, invoices with their lines, payments, and which of them
-- belong together.

create table if not exists paidonce.checkout_sessions (
    created timestamptz,
    amount_total bigint,
    credits bigint,
    session_id text not null,
    customer_id text,
    user_id text,
    mode text,
    status text,
    payment_status text,
    invoice_id text,
    currency text,
    constraint checkout_sessions_pkey primary key (session_id)
) inherits (paidonce.objects) with (fillfactor = 80);

comment on table paidonce.checkout_sessions is 'Checkout sessions as last stated.';
comment on column paidonce.checkout_sessions.created is 'When Stripe made the object (UTC).';
comment on column paidonce.checkout_sessions.amount_total is 'Total in minor units.';
comment on column paidonce.checkout_sessions.credits is 'Credits from its metadata key credits; null when there is none.';
comment on column paidonce.checkout_sessions.session_id is 'Stripe''s session id (cs_...).';
comment on column paidonce.checkout_sessions.customer_id is 'The customer it belongs to; null for guests.';
comment on column paidonce.checkout_sessions.user_id is 'The user who checked out: client_reference_id, else metadata.';
comment on column paidonce.checkout_sessions.mode is 'payment, subscription or setup.';
comment on column paidonce.checkout_sessions.status is 'open, complete or expired.';
comment on column paidonce.checkout_sessions.payment_status is 'paid, unpaid or no_payment_required. A complete session may be unpaid.';
comment on column paidonce.checkout_sessions.invoice_id is 'Its invoice, which then says what was bought.';
comment on column paidonce.checkout_sessions.currency is 'Three-letter currency of the amounts, lower case.';
call paidonce.finish_objects('paidonce.checkout_sessions');

create index if not exists checkout_sessions_customer_id_idx on paidonce.checkout_sessions (customer_id);

alter table paidonce.checkout_sessions enable row level security;
drop policy if exists "only the owner reads checkout sessions" on paidonce.checkout_sessions;
create policy "only the owner reads checkout sessions" on paidonce.checkout_sessions for all to public using (false);
call paidonce.only_grant('select', 'table paidonce.checkout_sessions', variadic '{}');

create table if not exists paidonce.invoices (
    period_start timestamptz,
    period_end timestamptz,
    created timestamptz,
    subtotal bigint,
    total bigint,
    amount_due bigint,
    amount_paid bigint,
    invoice_id text not null,
    customer_id text,
    subscription_id text,
    status text,
    billing_reason text,
    currency text,
    constraint invoices_pkey primary key (invoice_id)
) inherits (paidonce.objects) with (fillfactor = 80);

comment on table paidonce.invoices is 'Invoices as last stated. paid and void are final.';
comment on column paidonce.invoices.period_start is 'Start of what it bills (UTC).';
comment on column paidonce.invoices.period_end is 'End of what it bills (UTC).';
comment on column paidonce.invoices.created is 'When Stripe made the object (UTC).';
comment on column paidonce.invoices.subtotal is 'Sum of the lines before discounts and tax, in minor units.';
comment on column paidonce.invoices.total is 'What it comes to, in minor units.';
comment on column paidonce.invoices.amount_due is 'What is to be paid, in minor units.';
comment on column paidonce.invoices.amount_paid is 'What was paid, in minor units.';
comment on column paidonce.invoices.invoice_id is 'Stripe''s invoice id (in_...).';
comment on column paidonce.invoices.customer_id is 'The customer it belongs to; null for guests.';
comment on column paidonce.invoices.subscription_id is 'Its subscription; null for one-off invoices.';
comment on column paidonce.invoices.status is 'draft, open, paid, uncollectible or void; read from the older flags before API 2018-11-08.';
comment on column paidonce.invoices.billing_reason is 'Why it was made, such as subscription_create.';
comment on column paidonce.invoices.currency is 'Three-letter currency of the amounts, lower case.';
call paidonce.finish_objects('paidonce.invoices');

create index if not exists invoices_customer_id_idx on paidonce.invoices (customer_id);
create index if not exists invoices_subscription_id_idx on paidonce.invoices (subscription_id);

alter table paidonce.invoices enable row level security;
drop policy if exists "users read their own invoices" on paidonce.invoices;
create policy "users read their own invoices" on paidonce.invoices for select to public
    using (customer_id in (
        select c.customer_id from paidonce.customers as c
        where c.user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub')
    ));
call paidonce.only_grant('select', 'table paidonce.invoices', 'authenticated', 'service_role');

create table if not exists paidonce.invoice_lines (
    period_start timestamptz,
    period_end timestamptz,
    amount bigint,
    quantity bigint,
    stated_credits bigint,
    credits bigint,
    proration boolean not null default false,
    price_stated boolean not null default false,
    invoice_id text not null,
    line_id text not null,
    price_id text,
    product_id text,
    subscription_id text,
    constraint invoice_lines_pkey primary key (invoice_id, line_id),
    constraint invoice_lines_invoice_id_fkey foreign key (invoice_id)
        references paidonce.invoices (invoice_id) on delete cascade
) with (fillfactor = 80);

comment on table paidonce.invoice_lines is 'The lines of each invoice as last stated.';
comment on column paidonce.invoice_lines.period_start is 'Start of the line''s period (UTC).';
comment on column paidonce.invoice_lines.period_end is 'End of the line''s period (UTC).';
comment on column paidonce.invoice_lines.amount is 'Its amount in minor units.';
comment on column paidonce.invoice_lines.quantity is 'How many units.';
comment on column paidonce.invoice_lines.stated_credits is 'Credits per unit that the price carried inside the line, in API versions that expand it.';
comment on column paidonce.invoice_lines.credits is 'Credits per unit, fixed once the invoice is paid and the price is known; null until then.';
comment on column paidonce.invoice_lines.proration is 'It settles a change within a period; prorated lines grant nothing.';
comment on column paidonce.invoice_lines.price_stated is 'The line carried the whole price, not only its id.';
comment on column paidonce.invoice_lines.invoice_id is 'The invoice.';
comment on column paidonce.invoice_lines.line_id is 'Stripe''s line id (il_..., older ones sub_... or ii_...).';
comment on column paidonce.invoice_lines.price_id is 'Its price or plan; null for lines without one.';
comment on column paidonce.invoice_lines.product_id is 'The price''s product.';
comment on column paidonce.invoice_lines.subscription_id is 'The subscription it bills.';

create index if not exists invoice_lines_unresolved_idx on paidonce.invoice_lines (price_id) where credits is null and price_id is not null;

alter table paidonce.invoice_lines enable row level security;
drop policy if exists "users read the lines of their own invoices" on paidonce.invoice_lines;
create policy "users read the lines of their own invoices" on paidonce.invoice_lines for select to public
    using (invoice_id in (
        select n.invoice_id
        from paidonce.invoices as n
        join paidonce.customers as c on c.customer_id = n.customer_id
        where c.user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub')
    ));
call paidonce.only_grant('select', 'table paidonce.invoice_lines', 'authenticated', 'service_role');

create table if not exists paidonce.payments (
    created timestamptz,
    amount bigint,
    amount_paid bigint,
    amount_refunded bigint,
    credits bigint,
    payment_id text not null,
    kind text not null,
    customer_id text,
    status text,
    currency text,
    user_id text,
    constraint payments_pkey primary key (payment_id),
    constraint payments_kind_is_known check (kind in ('payment_intent', 'charge'))
) inherits (paidonce.objects) with (fillfactor = 80);

comment on table paidonce.payments is 'Payment intents and charges as last stated.';
comment on column paidonce.payments.created is 'When Stripe made the object (UTC).';
comment on column paidonce.payments.amount is 'Amount asked for, in minor units.';
comment on column paidonce.payments.amount_paid is 'Amount received or captured, in minor units.';
comment on column paidonce.payments.amount_refunded is 'Of a charge: refunded so far, in minor units; cumulative.';
comment on column paidonce.payments.credits is 'Of a payment intent: credits from its metadata key credits; null when there is none.';
comment on column paidonce.payments.payment_id is 'Stripe''s id of the payment intent (pi_...) or charge (ch_...).';
comment on column paidonce.payments.kind is 'payment_intent or charge.';
comment on column paidonce.payments.customer_id is 'The customer it belongs to; null for guests.';
comment on column paidonce.payments.status is 'Stripe''s status.';
comment on column paidonce.payments.currency is 'Three-letter currency of the amounts, lower case.';
comment on column paidonce.payments.user_id is 'The user whom its metadata names.';
call paidonce.finish_objects('paidonce.payments');

create index if not exists payments_customer_id_idx on paidonce.payments (customer_id);

alter table paidonce.payments enable row level security;
drop policy if exists "only the owner reads payments" on paidonce.payments;
create policy "only the owner reads payments" on paidonce.payments for all to public using (false);
call paidonce.only_grant('select', 'table paidonce.payments', variadic '{}');

create table if not exists paidonce.purchase_objects (
    link_known boolean not null default false,
    object_id text not null,
    kind text not null,
    purchase_id text not null,
    customer_id text,
    constraint purchase_objects_pkey primary key (object_id),
    constraint purchase_objects_kind_is_known check (kind in ('session', 'invoice', 'payment'))
) with (fillfactor = 80);

comment on table paidonce.purchase_objects is 'Which objects make one purchase: a session, its invoice, its payment intent, its charges. A row is made as soon as any of them is named, so that a refund and its payment always have a row to meet at.';
comment on column paidonce.purchase_objects.link_known is 'Of a payment: it is known whether an invoice belongs to it. Until API 2025-03-31 the payment says so itself, since then only a refetch.';
comment on column paidonce.purchase_objects.object_id is 'Id of the session, invoice, payment intent or charge.';
comment on column paidonce.purchase_objects.kind is 'session, invoice or payment.';
comment on column paidonce.purchase_objects.purchase_id is 'The purchase: the smallest id among its objects.';
comment on column paidonce.purchase_objects.customer_id is 'The customer the object names; null while it is unknown.';

create index if not exists purchase_objects_purchase_id_idx on paidonce.purchase_objects (purchase_id);
create index if not exists purchase_objects_customer_id_idx on paidonce.purchase_objects (customer_id);

alter table paidonce.purchase_objects enable row level security;
drop policy if exists "only the owner reads purchases" on paidonce.purchase_objects;
create policy "only the owner reads purchases" on paidonce.purchase_objects for all to public using (false);
call paidonce.only_grant('select', 'table paidonce.purchase_objects', variadic '{}');
