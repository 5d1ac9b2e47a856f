-- The outbox: what the database cannot roll back, written as intent in the transaction of its cause.

create table if not exists paidonce.outbox (
    id bigint generated always as identity,
    created_at timestamptz not null default clock_timestamp(),
    next_attempt_at timestamptz not null default clock_timestamp(),
    lease_until timestamptz,
    first_attempt_at timestamptz,
    sent_at timestamptz,
    lease_token bigint,
    attempts integer not null default 0,
    event_id text,
    action text not null,
    status text not null default 'pending',
    idempotency_key text not null,
    coalesce_key text,
    payload jsonb not null,
    response jsonb,
    error text,
    constraint outbox_pkey primary key (id),
    constraint outbox_one_row_per_key unique (idempotency_key),
    constraint outbox_status_is_known check (status in ('pending', 'sent', 'dead')),
    constraint outbox_sent_has_its_time check ((status = 'sent') = (sent_at is not null)),
    constraint outbox_lease_has_its_token check (lease_until is null or lease_token is not null),
    constraint outbox_attempts_are_counted check (attempts >= 0),
    constraint outbox_action_is_a_name check (action ~ '^[a-z0-9_-]+(\.[a-z0-9_-]+)*$'),
    constraint outbox_key_fits_every_provider check (length(idempotency_key) between 1 and 255)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

comment on table paidonce.outbox is 'One row per outside action that an effect asked for. Sent after the commit, at least once, always under the same key with the same payload.';
comment on column paidonce.outbox.id is 'Number of the row; says nothing about order of commit, so never page by it.';
comment on column paidonce.outbox.created_at is 'When the row was written (UTC).';
comment on column paidonce.outbox.next_attempt_at is 'Not sent before this time (UTC).';
comment on column paidonce.outbox.lease_until is 'A worker has it until then; null when no worker has it.';
comment on column paidonce.outbox.first_attempt_at is 'When it was first tried: the key''s life at the provider counts from here.';
comment on column paidonce.outbox.sent_at is 'When the provider accepted it; null unless the status is sent.';
comment on column paidonce.outbox.lease_token is 'Fencing token, one more with each claim: only the worker that holds the current one may settle the row.';
comment on column paidonce.outbox.attempts is 'How often it was tried.';
comment on column paidonce.outbox.event_id is 'The event whose effect wrote it; null where none did.';
comment on column paidonce.outbox.action is 'What to do, such as email.welcome or stripe.refetch.';
comment on column paidonce.outbox.status is 'pending, sent or dead.';
comment on column paidonce.outbox.idempotency_key is 'Sent with every attempt: <event_id>:<action>[:<discriminator>], or a business key; at most 255 characters.';
comment on column paidonce.outbox.coalesce_key is 'At most one pending row has a given key; null where rows are not coalesced.';
comment on column paidonce.outbox.payload is 'What to send, fixed when the row is written.';
comment on column paidonce.outbox.response is 'What the provider answered, shortened.';
comment on column paidonce.outbox.error is 'Error of the last attempt.';

-- In the order of bytes, so that a family of actions is one stretch of it. What a claim changes is in no index, so that it is a HOT update.
create index if not exists outbox_due_by_action_idx on paidonce.outbox (action collate "C", next_attempt_at, id) where status = 'pending';
create unique index if not exists outbox_one_pending_per_coalesce_key on paidonce.outbox (coalesce_key)
    where status = 'pending' and coalesce_key is not null;
create index if not exists outbox_dead_idx on paidonce.outbox (id) where status = 'dead';
create index if not exists outbox_event_id_idx on paidonce.outbox (event_id);

alter table paidonce.outbox enable row level security;
drop policy if exists "only the owner reads the outbox" on paidonce.outbox;
create policy "only the owner reads the outbox" on paidonce.outbox for all to public using (false);
call paidonce.only_grant('select', 'table paidonce.outbox', variadic '{}');
call paidonce.only_grant('usage', 'sequence paidonce.outbox_id_seq', variadic '{}');
