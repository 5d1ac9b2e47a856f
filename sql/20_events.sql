-- The ledger of events: one row per Stripe event, and one row per arrival of it.

create table if not exists paidonce.events (
    received_at timestamptz not null default clock_timestamp(),
    processed_at timestamptz,
    created timestamptz,
    attempts integer not null default 1,
    repaired integer not null default 0,
    livemode boolean,
    event_id text not null,
    event_type text not null,
    object_id text,
    customer_id text,
    account text,
    api_version text,
    status text not null,
    sqlstate text,
    error text,
    context text,
    payload jsonb not null,
    constraint events_pkey primary key (event_id),
    constraint events_status_is_known check (status in ('processed', 'ignored', 'parked', 'failed')),
    constraint events_processed_has_its_time check ((status = 'processed') = (processed_at is not null)),
    constraint events_unprocessed_says_why check (status = 'processed' or error is not null),
    constraint events_failed_has_its_sqlstate check (status <> 'failed' or sqlstate is not null),
    constraint events_attempts_are_counted check (attempts >= 1 and repaired >= 0)
);

comment on table paidonce.events is 'One row per Stripe event. Its primary key is the claim: whoever writes the row does the work.';
comment on column paidonce.events.received_at is 'When the event first arrived (UTC).';
comment on column paidonce.events.processed_at is 'When its effects were committed; null unless the status is processed.';
comment on column paidonce.events.created is 'Stripe''s created, a whole second (UTC); null where the event has none that can be read.';
comment on column paidonce.events.attempts is 'How often the event was claimed; duplicates do not count.';
comment on column paidonce.events.repaired is 'How many characters jsonb cannot hold were replaced by U+FFFD before the event was stored.';
comment on column paidonce.events.livemode is 'Stripe''s livemode; null where the event does not say.';
comment on column paidonce.events.event_id is 'Stripe''s event id (evt_...).';
comment on column paidonce.events.event_type is 'Stripe''s event type, such as invoice.paid.';
comment on column paidonce.events.object_id is 'Id of data.object; null for objects that have none.';
comment on column paidonce.events.customer_id is 'The customer the object names (as id or expanded), or the object''s own id where it is a customer.';
comment on column paidonce.events.account is 'The connected account the event came from; null for the platform''s own.';
comment on column paidonce.events.api_version is 'The API version that shaped the payload.';
comment on column paidonce.events.status is 'processed, ignored (no handler, or not for this installation), parked (waiting for its customer''s user) or failed.';
comment on column paidonce.events.sqlstate is 'SQLSTATE of the failure, or PO404 while parked.';
comment on column paidonce.events.error is 'Message of the failure, or the reason it was ignored or parked.';
comment on column paidonce.events.context is 'Where in which function the failure arose.';
comment on column paidonce.events.payload is 'The whole event as Stripe sent it.';

-- Payloads are the bulk of the work of a claim: lz4 is several times faster than the default, where the
-- server was built with it.
do $$
begin
    alter table paidonce.events alter column payload set compression lz4;
exception
    when feature_not_supported then
        null;
end
$$;

create index if not exists events_received_at_idx on paidonce.events (received_at);
create index if not exists events_parked_by_customer_idx on paidonce.events (customer_id) where status = 'parked';
create index if not exists events_open_idx on paidonce.events (received_at) where status in ('parked', 'failed');

alter table paidonce.events enable row level security;
drop policy if exists "only the owner reads events" on paidonce.events;
create policy "only the owner reads events" on paidonce.events for all to public using (false);
call paidonce.only_grant('select', 'table paidonce.events', variadic '{}');

-- No foreign key to events and no checks: one function writes here, it has just claimed or read the event,
-- and every delivery pays for what is checked.
create table if not exists paidonce.deliveries (
    delivery_id bigint generated always as identity,
    received_at timestamptz not null default clock_timestamp(),
    duration_ms double precision not null,
    event_id text not null,
    outcome text not null,
    source text not null default 'webhook',
    error text,
    constraint deliveries_pkey primary key (event_id, delivery_id)
);

comment on table paidonce.deliveries is 'The delivery log: one row per arrival of an event that was committed, whatever became of it.';
comment on column paidonce.deliveries.delivery_id is 'Number of the delivery; says nothing about order of commit.';
comment on column paidonce.deliveries.received_at is 'When this delivery began to be handled (UTC).';
comment on column paidonce.deliveries.duration_ms is 'Milliseconds from there to the end of the function, waiting for locks included.';
comment on column paidonce.deliveries.event_id is 'The event delivered.';
comment on column paidonce.deliveries.outcome is 'processed, duplicate, ignored, parked or failed.';
comment on column paidonce.deliveries.source is 'webhook for Stripe''s deliveries; link for a parked event run by itself when its user became known; replay for one run by hand.';
comment on column paidonce.deliveries.error is 'Why it was ignored, parked or failed.';

alter table paidonce.deliveries enable row level security;
drop policy if exists "only the owner reads deliveries" on paidonce.deliveries;
create policy "only the owner reads deliveries" on paidonce.deliveries for all to public using (false);
call paidonce.only_grant('select', 'table paidonce.deliveries', variadic '{}');
call paidonce.only_grant('usage', 'sequence paidonce.deliveries_delivery_id_seq', variadic '{}');
