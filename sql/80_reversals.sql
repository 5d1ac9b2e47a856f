-- What takes a purchase back: refunds and disputes. Neither names a customer; both name their payment.

create table if not exists paidonce.refunds (
    created timestamptz,
    amount bigint,
    refund_id text not null,
    charge_id text,
    payment_intent_id text,
    currency text,
    status text,
    constraint refunds_pkey primary key (refund_id)
) inherits (paidonce.objects) with (fillfactor = 80);

comment on table paidonce.refunds is 'Refunds as last stated. failed and canceled are final.';
comment on column paidonce.refunds.created is 'When Stripe made the object (UTC).';
comment on column paidonce.refunds.amount is 'Amount in minor units.';
comment on column paidonce.refunds.refund_id is 'Stripe''s refund id (re_...).';
comment on column paidonce.refunds.charge_id is 'The charge it refunds.';
comment on column paidonce.refunds.payment_intent_id is 'The payment intent it refunds.';
comment on column paidonce.refunds.currency is 'Three-letter currency of the amounts, lower case.';
comment on column paidonce.refunds.status is 'pending, requires_action, succeeded, failed or canceled; the last two take nothing back.';
call paidonce.finish_objects('paidonce.refunds');

create index if not exists refunds_charge_id_idx on paidonce.refunds (charge_id);
create index if not exists refunds_payment_intent_id_idx on paidonce.refunds (payment_intent_id);

alter table paidonce.refunds enable row level security;
drop policy if exists "only the owner reads refunds" on paidonce.refunds;
create policy "only the owner reads refunds" on paidonce.refunds for all to public using (false);
call paidonce.only_grant('select', 'table paidonce.refunds', variadic '{}');

create table if not exists paidonce.disputes (
    created timestamptz,
    amount bigint,
    dispute_id text not null,
    charge_id text,
    payment_intent_id text,
    currency text,
    status text,
    reason text,
    constraint disputes_pkey primary key (dispute_id)
) inherits (paidonce.objects) with (fillfactor = 80);

comment on table paidonce.disputes is 'Disputes as last stated.';
comment on column paidonce.disputes.created is 'When Stripe made the object (UTC).';
comment on column paidonce.disputes.amount is 'Amount in minor units.';
comment on column paidonce.disputes.dispute_id is 'Stripe''s dispute id (dp_... or du_...).';
comment on column paidonce.disputes.charge_id is 'The charge disputed.';
comment on column paidonce.disputes.payment_intent_id is 'The payment intent disputed.';
comment on column paidonce.disputes.currency is 'Three-letter currency of the amounts, lower case.';
comment on column paidonce.disputes.status is 'Stripe''s status: warning_* is an inquiry and takes nothing, needs_response, under_review and lost count, won restores.';
comment on column paidonce.disputes.reason is 'The reason the bank gave.';
call paidonce.finish_objects('paidonce.disputes');

create index if not exists disputes_charge_id_idx on paidonce.disputes (charge_id);
create index if not exists disputes_payment_intent_id_idx on paidonce.disputes (payment_intent_id);

alter table paidonce.disputes enable row level security;
drop policy if exists "only the owner reads disputes" on paidonce.disputes;
create policy "only the owner reads disputes" on paidonce.disputes for all to public using (false);
call paidonce.only_grant('select', 'table paidonce.disputes', variadic '{}');
