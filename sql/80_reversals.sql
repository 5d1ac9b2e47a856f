-- What takes a purchase back: refunds and disputes. Neither names a customer; both name their payment.

create table if not exists paidonce.refunds (
    as_of timestamptz,
    created timestamptz,
    generation bigint not null default 1,
    as_of_rank bigint not null,
    amount bigint,
    is_final boolean not null default false,
    livemode boolean,
    refund_id text not null,
    charge_id text,
    payment_intent_id text,
    currency text,
    status text,
    account text,
    source_event text,
    rivals text[] not null default '{}',
    data jsonb,
    constraint refunds_pkey primary key (refund_id)
) with (fillfactor = 80);

comment on table paidonce.refunds is 'Refunds as last stated. failed and canceled are final.';
comment on column paidonce.refunds.as_of is 'Stripe''s time of the information in this row (UTC).';
comment on column paidonce.refunds.created is 'When Stripe made the object (UTC).';
comment on column paidonce.refunds.generation is 'Counts every event that spoke of the object; guards a refetch against what arrived meanwhile.';
comment on column paidonce.refunds.as_of_rank is 'Rank of the source among those of one second: see paidonce.rank_of.';
comment on column paidonce.refunds.amount is 'Amount in minor units.';
comment on column paidonce.refunds.is_final is 'The object is in a state that no event leaves.';
comment on column paidonce.refunds.livemode is 'Stripe''s livemode of the object.';
comment on column paidonce.refunds.refund_id is 'Stripe''s refund id (re_...).';
comment on column paidonce.refunds.charge_id is 'The charge it refunds.';
comment on column paidonce.refunds.payment_intent_id is 'The payment intent it refunds.';
comment on column paidonce.refunds.currency is 'Three-letter currency of the amounts, lower case.';
comment on column paidonce.refunds.status is 'pending, requires_action, succeeded, failed or canceled; the last two take nothing back.';
comment on column paidonce.refunds.account is 'Connected account; null for the platform''s own.';
comment on column paidonce.refunds.source_event is 'The event whose information this is; null after a refetch.';
comment on column paidonce.refunds.rivals is 'Events of the same second and rank that had to be told apart.';
comment on column paidonce.refunds.data is 'The whole object as last stated.';

create index if not exists refunds_charge_id_idx on paidonce.refunds (charge_id);
create index if not exists refunds_payment_intent_id_idx on paidonce.refunds (payment_intent_id);

alter table paidonce.refunds enable row level security;
drop policy if exists "only the owner reads refunds" on paidonce.refunds;
create policy "only the owner reads refunds" on paidonce.refunds for all to public using (false);
call paidonce.only_grant('select', 'table paidonce.refunds', variadic '{}');

create table if not exists paidonce.disputes (
    as_of timestamptz,
    created timestamptz,
    generation bigint not null default 1,
    as_of_rank bigint not null,
    amount bigint,
    is_final boolean not null default false,
    livemode boolean,
    dispute_id text not null,
    charge_id text,
    payment_intent_id text,
    currency text,
    status text,
    reason text,
    account text,
    source_event text,
    rivals text[] not null default '{}',
    data jsonb,
    constraint disputes_pkey primary key (dispute_id)
) with (fillfactor = 80);

comment on table paidonce.disputes is 'Disputes as last stated.';
comment on column paidonce.disputes.as_of is 'Stripe''s time of the information in this row (UTC).';
comment on column paidonce.disputes.created is 'When Stripe made the object (UTC).';
comment on column paidonce.disputes.generation is 'Counts every event that spoke of the object; guards a refetch against what arrived meanwhile.';
comment on column paidonce.disputes.as_of_rank is 'Rank of the source among those of one second: see paidonce.rank_of.';
comment on column paidonce.disputes.amount is 'Amount in minor units.';
comment on column paidonce.disputes.is_final is 'The object is in a state that no event leaves.';
comment on column paidonce.disputes.livemode is 'Stripe''s livemode of the object.';
comment on column paidonce.disputes.dispute_id is 'Stripe''s dispute id (dp_... or du_...).';
comment on column paidonce.disputes.charge_id is 'The charge disputed.';
comment on column paidonce.disputes.payment_intent_id is 'The payment intent disputed.';
comment on column paidonce.disputes.currency is 'Three-letter currency of the amounts, lower case.';
comment on column paidonce.disputes.status is 'Stripe''s status: warning_* is an inquiry and takes nothing, needs_response, under_review and lost count, won restores.';
comment on column paidonce.disputes.reason is 'The reason the bank gave.';
comment on column paidonce.disputes.account is 'Connected account; null for the platform''s own.';
comment on column paidonce.disputes.source_event is 'The event whose information this is; null after a refetch.';
comment on column paidonce.disputes.rivals is 'Events of the same second and rank that had to be told apart.';
comment on column paidonce.disputes.data is 'The whole object as last stated.';

create index if not exists disputes_charge_id_idx on paidonce.disputes (charge_id);
create index if not exists disputes_payment_intent_id_idx on paidonce.disputes (payment_intent_id);

alter table paidonce.disputes enable row level security;
drop policy if exists "only the owner reads disputes" on paidonce.disputes;
create policy "only the owner reads disputes" on paidonce.disputes for all to public using (false);
call paidonce.only_grant('select', 'table paidonce.disputes', variadic '{}');
