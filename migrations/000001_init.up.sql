-- Migration 000001_init, up. Built by `make migrations`: edit sql/ and functions/ instead.

-- step: bodies are checked when all functions are there
set check_function_bodies = off;

-- file: sql/00_schema.sql
-- The schema, the two roles of the kit, and the one procedure that hands out rights.

create schema if not exists paidonce;
comment on schema paidonce is 'paidonce: one Stripe event, one business effect, however many times it arrives';
revoke all on schema paidonce from public;

-- Roles belong to the cluster, not to this database: another database may have made them, maybe at
-- this very moment, and a migration role without CREATEROLE goes on without them.
do $$
declare
    v_role pg_catalog.text;
begin
    foreach v_role in array array['paidonce_edge', 'paidonce_worker'] loop
        begin
            if not exists (select from pg_catalog.pg_roles where rolname = v_role) then
                execute pg_catalog.format('create role %I nologin', v_role);
            end if;
        exception
            when duplicate_object or unique_violation then
                null;
            when insufficient_privilege then
                raise notice 'role % is missing and could not be created: create it as an administrator, then apply this migration again', v_role;
        end;
    end loop;
end
$$;

-- Purpose:   leave exactly the named rights on one object: everything is taken from PUBLIC, from the API
--            roles and from the kit's roles, then the privilege is granted to the roles that are named.
--            Roles that this server does not have (plain Postgres has no anon) are passed over.
-- Arguments: privilege, as in GRANT; object, as in GRANT ... ON; the roles.
-- Raises:    whatever GRANT and REVOKE raise.
-- Locks:     the object's catalog row.
create or replace procedure paidonce.only_grant(privilege text, object text, variadic grantees text[])
language plpgsql
security invoker
set search_path = ''
as $$
declare
    v_role pg_catalog.text;
begin
    execute pg_catalog.format('revoke all on %s from public', object);
    for v_role in
        select r.rolname
        from pg_catalog.pg_roles as r
        where r.rolname in ('anon', 'authenticated', 'service_role', 'paidonce_edge', 'paidonce_worker')
        order by r.rolname
    loop
        execute pg_catalog.format('revoke all on %s from %I', object, v_role);
        if v_role = any (grantees) then
            execute pg_catalog.format('grant %s on %s to %I', privilege, object, v_role);
        end if;
    end loop;
end
$$;
comment on procedure paidonce.only_grant(text, text, text[]) is
    'Takes every right on an object from PUBLIC and the API roles, then grants one privilege to the roles named; roles that do not exist here are passed over.';
revoke all on procedure paidonce.only_grant(text, text, text[]) from public;
call paidonce.only_grant('execute', 'procedure paidonce.only_grant(text, text, text[])', variadic '{}');

call paidonce.only_grant('usage', 'schema paidonce', 'anon', 'authenticated', 'service_role', 'paidonce_worker');

-- Purpose:   let one API role read the rows of a table that a condition admits.
-- Arguments: relation; role_name; policy_name, a sentence; condition, as in CREATE POLICY ... USING.
-- Raises:    whatever CREATE POLICY raises. Nothing happens where the role does not exist.
-- Locks:     the table, exclusively.
create or replace procedure paidonce.read_policy(relation text, role_name text, policy_name text, condition text)
language plpgsql
security invoker
set search_path = ''
as $$
begin
    execute pg_catalog.format('drop policy if exists %I on %s', policy_name, relation);
    if exists (select from pg_catalog.pg_roles as r where r.rolname = role_name) then
        execute pg_catalog.format('create policy %I on %s for select to %I using (%s)', policy_name, relation, role_name, condition);
    end if;
end
$$;
comment on procedure paidonce.read_policy(text, text, text, text) is
    'Lets one API role read the rows of a table that a condition admits; nothing where the role does not exist.';
revoke all on procedure paidonce.read_policy(text, text, text, text) from public;
call paidonce.only_grant('execute', 'procedure paidonce.read_policy(text, text, text, text)', variadic '{}');

-- file: sql/10_settings.sql
-- The settings: one row, changed by the owner with a plain update.

create table if not exists paidonce.settings (
    singleton boolean not null default true,
    livemode boolean,
    account text,
    access_statuses text[] not null default '{trialing,active,past_due}',
    user_id_metadata_key text not null default 'user_id',
    notify text not null default 'gated',
    constraint settings_pkey primary key (singleton),
    constraint settings_has_one_row check (singleton),
    constraint settings_notify_is_known check (notify in ('off', 'gated', 'always')),
    constraint settings_metadata_key_is_not_blank check (user_id_metadata_key <> '')
);

comment on table paidonce.settings is 'One row: what this installation accepts and how it reads it.';
comment on column paidonce.settings.singleton is 'Always true: it keeps the table at one row.';
comment on column paidonce.settings.livemode is 'Null accepts live and test events; true or false accepts that mode and ignores the other.';
comment on column paidonce.settings.account is 'Null accepts every account; an account id (acct_...) accepts only the events of that connected account.';
comment on column paidonce.settings.access_statuses is 'Subscription statuses that grant access.';
comment on column paidonce.settings.user_id_metadata_key is 'The metadata key of sessions, subscriptions and customers that names your user.';
comment on column paidonce.settings.notify is 'Wake-up of outbox workers: off, gated (at most one notifying transaction at a time) or always.';

insert into paidonce.settings (singleton) values (true) on conflict (singleton) do nothing;

alter table paidonce.settings enable row level security;
-- paidonce.entitlements runs with the rights of whoever asks, and asks which statuses grant access.
drop policy if exists "users read which statuses grant access" on paidonce.settings;
create policy "users read which statuses grant access" on paidonce.settings for select to public using (singleton);
call paidonce.only_grant('select (access_statuses)', 'table paidonce.settings', 'authenticated', 'service_role');

-- file: sql/20_events.sql
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

-- file: sql/27_due_work.sql
-- What is to be done after the transaction that made it possible: no transaction grows with what waits for it.

create table if not exists paidonce.due_work (
    marked_at timestamptz not null default clock_timestamp(),
    next_attempt_at timestamptz not null default clock_timestamp(),
    done_until timestamptz,
    due_id bigint generated always as identity,
    attempts integer not null default 0,
    kind text not null,
    subject text not null,
    done_until_id text,
    cause text,
    error text,
    constraint due_work_pkey primary key (due_id),
    constraint due_work_kind_is_known check (kind in ('customer', 'price', 'product', 'event', 'purchase')),
    constraint due_work_attempts_are_counted check (attempts >= 0)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

comment on table paidonce.due_work is 'What became possible and is not done yet: run by paidonce.run_due, one item in a transaction of its own. Empty while everything is done.';
comment on column paidonce.due_work.marked_at is 'When it was marked as due (UTC).';
comment on column paidonce.due_work.next_attempt_at is 'Not run before this time (UTC): later after an attempt that found something busy.';
comment on column paidonce.due_work.done_until is 'Of a customer: parked events created up to then are done (UTC); the first part of how far it has got.';
comment on column paidonce.due_work.due_id is 'Number of the item.';
comment on column paidonce.due_work.attempts is 'How often it was tried in vain.';
comment on column paidonce.due_work.kind is 'customer: its parked events, then its purchases, since its user is known; price or product: paid lines that waited for it; event: one parked event; purchase: one purchase.';
comment on column paidonce.due_work.subject is 'Id of the customer, price, product, event, or of any object of the purchase.';
comment on column paidonce.due_work.done_until_id is 'How far it has got: the last event, purchase or invoice that is done; purchases of a customer have a / in front.';
comment on column paidonce.due_work.cause is 'The event that made it possible; null when a person did.';
comment on column paidonce.due_work.error is 'Why the last attempt was in vain.';

create index if not exists due_work_next_attempt_at_idx on paidonce.due_work (next_attempt_at, due_id);

alter table paidonce.due_work enable row level security;
drop policy if exists "only the owner reads due work" on paidonce.due_work;
create policy "only the owner reads due work" on paidonce.due_work for all to public using (false);
call paidonce.only_grant('select', 'table paidonce.due_work', variadic '{}');
call paidonce.only_grant('usage', 'sequence paidonce.due_work_due_id_seq', variadic '{}');

-- file: sql/30_handlers.sql
-- The registry of effects that run besides the built-in ones. paidonce.on and paidonce.off write it.

create table if not exists paidonce.handlers (
    position bigint generated by default as identity,
    enabled boolean not null default true,
    event_type text not null,
    handler text not null,
    function_name text not null,
    constraint handlers_pkey primary key (event_type, handler),
    constraint handlers_event_type_is_a_pattern check (event_type ~ '^([a-zA-Z0-9_]+(\.[a-zA-Z0-9_]+)*(\.\*)?|\*)$')
);

comment on table paidonce.handlers is 'Your own effects: which function runs for which type of event, in which order.';
comment on column paidonce.handlers.position is 'Order of running, lowest first; given by registration, changed with a plain update.';
comment on column paidonce.handlers.enabled is 'False after paidonce.off: kept with its place in the order, not run.';
comment on column paidonce.handlers.event_type is 'An exact type, a family such as customer.subscription.*, or * for every event.';
comment on column paidonce.handlers.handler is 'The function with its argument type, such as app.welcome(jsonb).';
comment on column paidonce.handlers.function_name is 'The function''s quoted, qualified name, as it is called.';

alter table paidonce.handlers enable row level security;
drop policy if exists "only the owner reads handlers" on paidonce.handlers;
create policy "only the owner reads handlers" on paidonce.handlers for all to public using (false);
call paidonce.only_grant('select', 'table paidonce.handlers', variadic '{}');
call paidonce.only_grant('usage', 'sequence paidonce.handlers_position_seq', variadic '{}');

-- file: sql/40_outbox.sql
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

-- file: sql/45_objects.sql
-- What is kept of every Stripe object, whatever its type: whose statement holds, and that statement.

create table if not exists paidonce.objects (
    as_of timestamptz,
    generation bigint not null default 0,
    as_of_rank bigint,
    is_final boolean not null default false,
    livemode boolean,
    account text,
    source_event text,
    rivals text[] not null default '{}',
    data jsonb,
    constraint objects_spoken_of_have_a_rank check (as_of_rank is not null or generation = 0)
);

comment on table paidonce.objects is 'What the tables of objects have in common; each inherits from it and adds its typed columns. Holds no rows itself; reading it reads all of them.';
comment on column paidonce.objects.as_of is 'Stripe''s time of the information in this row (UTC); null while nothing but the id is known.';
comment on column paidonce.objects.generation is 'Counts every event that spoke of the object; guards a refetch against what arrived meanwhile.';
comment on column paidonce.objects.as_of_rank is 'Rank of the source among those of one second: see paidonce.rank_of; null while nothing but the id is known.';
comment on column paidonce.objects.is_final is 'The object is in a state that no event leaves: see paidonce.is_final.';
comment on column paidonce.objects.livemode is 'Stripe''s livemode of the object.';
comment on column paidonce.objects.account is 'Connected account it belongs to; null for the platform''s own.';
comment on column paidonce.objects.source_event is 'The event whose information this is; null after a refetch.';
comment on column paidonce.objects.rivals is 'Events of the same second and rank that had to be told apart.';
comment on column paidonce.objects.data is 'The whole object as last stated.';

alter table paidonce.objects enable row level security;
drop policy if exists "only the owner reads objects" on paidonce.objects;
create policy "only the owner reads objects" on paidonce.objects for all to public using (false);
call paidonce.only_grant('select', 'table paidonce.objects', variadic '{}');

-- Purpose:   finish a table of objects: what PostgreSQL does not inherit, comments and compression of the common columns.
-- Arguments: relation, a table that inherits from paidonce.objects.
-- Raises:    whatever ALTER TABLE raises. A server without lz4 goes on without it.
-- Locks:     the table, exclusively.
create or replace procedure paidonce.finish_objects(relation text)
language plpgsql
security invoker
set search_path = ''
as $$
declare
    v_column pg_catalog.record;
begin
    for v_column in
        select a.attname, pg_catalog.col_description(a.attrelid, a.attnum) as description
        from pg_catalog.pg_attribute as a
        where a.attrelid = 'paidonce.objects'::pg_catalog.regclass and a.attnum > 0 and not a.attisdropped
    loop
        execute pg_catalog.format('comment on column %s.%I is %L', relation, v_column.attname, v_column.description);
    end loop;
    begin
        execute pg_catalog.format('alter table %s alter column data set compression lz4', relation);
    exception
        when feature_not_supported then
            null;
    end;
end
$$;
comment on procedure paidonce.finish_objects(text) is
    'Gives a table that inherits from paidonce.objects what is not inherited: the comments and the compression of the common columns.';
revoke all on procedure paidonce.finish_objects(text) from public;
call paidonce.only_grant('execute', 'procedure paidonce.finish_objects(text)', variadic '{}');

-- file: sql/50_customers.sql
-- Customers, the users they belong to, and the links that contradicted each other.

create table if not exists paidonce.customers (
    linked_at timestamptz,
    deleted boolean not null default false,
    customer_id text not null,
    user_id text,
    link_event text,
    email text,
    name text,
    constraint customers_pkey primary key (customer_id),
    constraint customers_link_has_its_time check ((user_id is null) = (linked_at is null)),
    constraint customers_user_is_not_blank check (user_id <> '')
) inherits (paidonce.objects) with (fillfactor = 80);

comment on table paidonce.customers is 'Stripe customers. The row is also the lock that every event of the customer takes first, so it may be there before Stripe has described it.';
comment on column paidonce.customers.linked_at is 'When the customer was linked to its user (UTC).';
comment on column paidonce.customers.deleted is 'Stripe deleted the customer; the row stays.';
comment on column paidonce.customers.customer_id is 'Stripe''s customer id (cus_...).';
comment on column paidonce.customers.user_id is 'Your user; the first link wins. Several customers may have the same user.';
comment on column paidonce.customers.link_event is 'The event that linked it; null when linked by hand.';
comment on column paidonce.customers.email is 'E-mail address as Stripe has it.';
comment on column paidonce.customers.name is 'Name as Stripe has it.';
call paidonce.finish_objects('paidonce.customers');

create index if not exists customers_user_id_idx on paidonce.customers (user_id) where user_id is not null;

-- auth.uid() exists only on Supabase, and a function of our own would have to be executable by the API
-- roles: the claim is read in place.
alter table paidonce.customers enable row level security;
drop policy if exists "users read their own customers" on paidonce.customers;
create policy "users read their own customers" on paidonce.customers for select to public
    using (user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub'));
call paidonce.only_grant('select', 'table paidonce.customers', 'authenticated', 'service_role');

create table if not exists paidonce.link_conflicts (
    seen_at timestamptz not null default clock_timestamp(),
    customer_id text not null,
    user_id text not null,
    event_id text,
    constraint link_conflicts_pkey primary key (customer_id, user_id)
);

comment on table paidonce.link_conflicts is 'Links that came after the first and named another user. They change nothing; a person has to look.';
comment on column paidonce.link_conflicts.seen_at is 'When the contradiction was first seen (UTC).';
comment on column paidonce.link_conflicts.customer_id is 'The customer, which keeps its first user.';
comment on column paidonce.link_conflicts.user_id is 'The other user that was named.';
comment on column paidonce.link_conflicts.event_id is 'The event that named it; null when it was paidonce.link_customer.';

alter table paidonce.link_conflicts enable row level security;
drop policy if exists "only the owner reads link conflicts" on paidonce.link_conflicts;
create policy "only the owner reads link conflicts" on paidonce.link_conflicts for all to public using (false);
call paidonce.only_grant('select', 'table paidonce.link_conflicts', variadic '{}');

-- file: sql/60_subscriptions.sql
-- Subscriptions and their items.

create table if not exists paidonce.subscriptions (
    created timestamptz,
    current_period_start timestamptz,
    current_period_end timestamptz,
    trial_end timestamptz,
    cancel_at timestamptz,
    canceled_at timestamptz,
    ended_at timestamptz,
    subscription_id text not null,
    customer_id text,
    status text not null,
    pause_behavior text,
    constraint subscriptions_pkey primary key (subscription_id)
) inherits (paidonce.objects) with (fillfactor = 80);

comment on table paidonce.subscriptions is 'Stripe subscriptions as last stated. Never deleted: a canceled one stays, as canceled.';
comment on column paidonce.subscriptions.created is 'When the subscription was made (UTC).';
comment on column paidonce.subscriptions.current_period_start is 'Start of the current period (UTC): of the subscription, or since API 2025-03-31 of the item that ends first.';
comment on column paidonce.subscriptions.current_period_end is 'End of the current period (UTC), from the same place.';
comment on column paidonce.subscriptions.trial_end is 'End of the trial (UTC).';
comment on column paidonce.subscriptions.cancel_at is 'Scheduled end (UTC): Stripe''s cancel_at, or the period''s end where only cancel_at_period_end is set. Null when nothing is scheduled.';
comment on column paidonce.subscriptions.canceled_at is 'When the cancellation was asked for (UTC).';
comment on column paidonce.subscriptions.ended_at is 'When it ended (UTC); ends access at once.';
comment on column paidonce.subscriptions.subscription_id is 'Stripe''s subscription id (sub_...).';
comment on column paidonce.subscriptions.customer_id is 'The customer it belongs to.';
comment on column paidonce.subscriptions.status is 'Stripe''s status. canceled and incomplete_expired are final.';
comment on column paidonce.subscriptions.pause_behavior is 'pause_collection.behavior: void, keep_as_draft or mark_uncollectible; null when collection is not paused.';
call paidonce.finish_objects('paidonce.subscriptions');

create index if not exists subscriptions_customer_id_idx on paidonce.subscriptions (customer_id);

alter table paidonce.subscriptions enable row level security;
drop policy if exists "users read their own subscriptions" on paidonce.subscriptions;
create policy "users read their own subscriptions" on paidonce.subscriptions for select to public
    using (customer_id in (
        select c.customer_id from paidonce.customers as c
        where c.user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub')
    ));
call paidonce.only_grant('select', 'table paidonce.subscriptions', 'authenticated', 'service_role');

create table if not exists paidonce.subscription_items (
    current_period_start timestamptz,
    current_period_end timestamptz,
    quantity bigint,
    item_id text not null,
    subscription_id text not null,
    price_id text,
    product_id text,
    lookup_key text,
    constraint subscription_items_pkey primary key (subscription_id, item_id),
    constraint subscription_items_subscription_id_fkey foreign key (subscription_id)
        references paidonce.subscriptions (subscription_id) on delete cascade
) with (fillfactor = 80);

comment on table paidonce.subscription_items is 'What each subscription is for, as last stated. Replaced as a whole with its subscription; order means nothing.';
comment on column paidonce.subscription_items.current_period_start is 'Start of the item''s period (UTC); null before API 2025-03-31, where the subscription has it.';
comment on column paidonce.subscription_items.current_period_end is 'End of the item''s period (UTC); likewise.';
comment on column paidonce.subscription_items.quantity is 'How many; null for metered prices.';
comment on column paidonce.subscription_items.item_id is 'Stripe''s item id (si_...); <subscription_id>:plan where old API versions state a plan without items.';
comment on column paidonce.subscription_items.subscription_id is 'The subscription it belongs to.';
comment on column paidonce.subscription_items.price_id is 'The price, or in old API versions the plan.';
comment on column paidonce.subscription_items.product_id is 'The price''s product.';

comment on column paidonce.subscription_items.lookup_key is 'The price''s lookup_key as the subscription carried it; paidonce.prices goes first where it knows the price.';

create index if not exists subscription_items_price_id_idx on paidonce.subscription_items (price_id);

alter table paidonce.subscription_items enable row level security;
drop policy if exists "users read their own subscription items" on paidonce.subscription_items;
create policy "users read their own subscription items" on paidonce.subscription_items for select to public
    using (subscription_id in (
        select s.subscription_id
        from paidonce.subscriptions as s
        join paidonce.customers as c on c.customer_id = s.customer_id
        where c.user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub')
    ));
call paidonce.only_grant('select', 'table paidonce.subscription_items', 'authenticated', 'service_role');

-- file: sql/70_catalog.sql
-- Products, prices, and the mapping from prices to features and credits.

create table if not exists paidonce.products (
    credits bigint,
    active boolean not null default true,
    deleted boolean not null default false,
    product_id text not null,
    name text,
    features text[] not null default '{}',
    constraint products_pkey primary key (product_id)
) inherits (paidonce.objects) with (fillfactor = 80);

comment on table paidonce.products is 'Stripe products as last stated. A deleted one stays, marked.';
comment on column paidonce.products.credits is 'Credits per unit from its metadata key credits; null when there is none.';
comment on column paidonce.products.active is 'Whether it is offered.';
comment on column paidonce.products.deleted is 'Stripe deleted the product; the row stays.';
comment on column paidonce.products.product_id is 'Stripe''s product id (prod_...).';
comment on column paidonce.products.name is 'Its name.';
comment on column paidonce.products.features is 'Feature names from its metadata: feature, or features separated by commas.';
call paidonce.finish_objects('paidonce.products');

-- Products that are no longer offered stay readable for whoever still has them.
alter table paidonce.products enable row level security;
call paidonce.read_policy('paidonce.products', 'anon', 'everyone reads active products', 'active and not deleted');
call paidonce.read_policy('paidonce.products', 'authenticated', 'users read active products and those of their own subscriptions',
    $$active and not deleted or product_id in (
        select i.product_id
        from paidonce.customers as c
        join paidonce.subscriptions as s on s.customer_id = c.customer_id
        join paidonce.subscription_items as i on i.subscription_id = s.subscription_id
        where c.user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub')
    )$$);
call paidonce.only_grant('select', 'table paidonce.products', 'anon', 'authenticated', 'service_role');

create table if not exists paidonce.prices (
    unit_amount bigint,
    credits bigint,
    active boolean not null default true,
    deleted boolean not null default false,
    price_id text not null,
    product_id text,
    lookup_key text,
    currency text,
    recurring_interval text,
    constraint prices_pkey primary key (price_id)
) inherits (paidonce.objects) with (fillfactor = 80);

comment on table paidonce.prices is 'Stripe prices, and the plans of old API versions, as last stated. A deleted one stays, marked.';
comment on column paidonce.prices.unit_amount is 'Price of one unit in minor units; null where it is tiered or has fractions.';
comment on column paidonce.prices.credits is 'Credits per unit from its metadata key credits; null when there is none.';
comment on column paidonce.prices.active is 'Whether it is offered.';
comment on column paidonce.prices.deleted is 'Stripe deleted the price; the row stays.';
comment on column paidonce.prices.price_id is 'Stripe''s price id (price_...), or plan id.';
comment on column paidonce.prices.product_id is 'Its product.';
comment on column paidonce.prices.lookup_key is 'Stripe''s lookup_key: the feature it grants.';
comment on column paidonce.prices.currency is 'Three-letter currency of the amounts, lower case.';
comment on column paidonce.prices.recurring_interval is 'day, week, month or year; null for one-off prices.';
call paidonce.finish_objects('paidonce.prices');

create index if not exists prices_product_id_idx on paidonce.prices (product_id);

alter table paidonce.prices enable row level security;
call paidonce.read_policy('paidonce.prices', 'anon', 'everyone reads active prices', 'active and not deleted');
call paidonce.read_policy('paidonce.prices', 'authenticated', 'users read active prices and those of their own subscriptions',
    $$active and not deleted or price_id in (
        select i.price_id
        from paidonce.customers as c
        join paidonce.subscriptions as s on s.customer_id = c.customer_id
        join paidonce.subscription_items as i on i.subscription_id = s.subscription_id
        where c.user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub')
    )$$);
call paidonce.only_grant('select', 'table paidonce.prices', 'anon', 'authenticated', 'service_role');

create table if not exists paidonce.price_grants (
    credits bigint,
    price_id text not null,
    feature text,
    constraint price_grants_one_row_per_feature unique nulls not distinct (price_id, feature),
    constraint price_grants_credits_are_not_negative check (credits >= 0),
    constraint price_grants_grants_something check (feature is not null or credits is not null)
);

comment on table paidonce.price_grants is 'The mapping table, yours to fill: what a price grants where lookup_key and metadata do not say it. Several rows per price name several features.';
comment on column paidonce.price_grants.credits is 'Credits per unit; goes before what the metadata of price and product says. Several rows of one price count once, with the largest.';
comment on column paidonce.price_grants.price_id is 'The price, or in old API versions the plan.';
comment on column paidonce.price_grants.feature is 'A feature it grants; null where the row only says credits.';

alter table paidonce.price_grants enable row level security;
drop policy if exists "users read what their own prices grant" on paidonce.price_grants;
create policy "users read what their own prices grant" on paidonce.price_grants for select to public
    using (price_id in (
        select i.price_id
        from paidonce.customers as c
        join paidonce.subscriptions as s on s.customer_id = c.customer_id
        join paidonce.subscription_items as i on i.subscription_id = s.subscription_id
        where c.user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub')
    ));
call paidonce.only_grant('select (price_id, feature)', 'table paidonce.price_grants', 'authenticated', 'service_role');

-- file: sql/75_purchases.sql
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

-- file: sql/80_reversals.sql
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

-- file: sql/82_entitlement_summaries.sql
-- Stripe's own word on what a customer is entitled to.

create table if not exists paidonce.entitlement_summaries (
    complete boolean not null default true,
    customer_id text not null,
    features text[] not null,
    constraint entitlement_summaries_pkey primary key (customer_id)
) inherits (paidonce.objects) with (fillfactor = 80);

comment on table paidonce.entitlement_summaries is 'Stripe''s active entitlements, one row per customer, as last stated.';
comment on column paidonce.entitlement_summaries.complete is 'False while the list goes on beyond the first page that an event carries.';
comment on column paidonce.entitlement_summaries.customer_id is 'The customer.';
comment on column paidonce.entitlement_summaries.features is 'Lookup keys of the active entitlements.';
call paidonce.finish_objects('paidonce.entitlement_summaries');

alter table paidonce.entitlement_summaries enable row level security;
drop policy if exists "users read their own entitlement summaries" on paidonce.entitlement_summaries;
create policy "users read their own entitlement summaries" on paidonce.entitlement_summaries for select to public
    using (customer_id in (
        select c.customer_id from paidonce.customers as c
        where c.user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub')
    ));
call paidonce.only_grant('select', 'table paidonce.entitlement_summaries', 'authenticated', 'service_role');

-- file: sql/85_credits.sql
-- Credits: an append-only ledger.

create table if not exists paidonce.credit_entries (
    created_at timestamptz not null default clock_timestamp(),
    entry_id bigint generated always as identity,
    amount bigint not null,
    customer_id text,
    user_id text not null,
    kind text not null,
    source_key text not null,
    purchase_id text,
    event_id text,
    constraint credit_entries_pkey primary key (entry_id),
    constraint credit_entries_once_per_source unique (source_key),
    constraint credit_entries_kind_is_known check (kind in ('grant', 'reversal', 'restore', 'spend')),
    constraint credit_entries_sign_fits_kind check (case when kind in ('grant', 'restore') then amount > 0 else amount < 0 end)
);

comment on table paidonce.credit_entries is 'The ledger of credits. Rows are only ever added; the balance is their sum.';
comment on column paidonce.credit_entries.created_at is 'When it was written (UTC).';
comment on column paidonce.credit_entries.entry_id is 'Number of the entry.';
comment on column paidonce.credit_entries.amount is 'Credits: added when positive, taken when negative.';
comment on column paidonce.credit_entries.customer_id is 'The customer it came through; null for guests.';
comment on column paidonce.credit_entries.user_id is 'Whose credits they are.';
comment on column paidonce.credit_entries.kind is 'grant (a purchase), reversal (refunded, disputed, or corrected), restore (a won dispute or failed refund), spend.';
comment on column paidonce.credit_entries.source_key is 'What it is for, once only: <purchase>:<kind>:<number>, or spend:<length of user>:<user>:<key>.';
comment on column paidonce.credit_entries.purchase_id is 'The purchase, by the name it had when the entry was written; null for spending.';
comment on column paidonce.credit_entries.event_id is 'The event that brought it about; null for spending and for what a person did.';

create index if not exists credit_entries_user_id_idx on paidonce.credit_entries (user_id, customer_id);
create index if not exists credit_entries_purchase_id_idx on paidonce.credit_entries (purchase_id) where purchase_id is not null;

alter table paidonce.credit_entries enable row level security;
drop policy if exists "users read their own credits" on paidonce.credit_entries;
create policy "users read their own credits" on paidonce.credit_entries for select to public
    using (user_id = (select nullif((select current_setting('request.jwt.claims', true)), '')::jsonb ->> 'sub'));
call paidonce.only_grant('select', 'table paidonce.credit_entries', 'authenticated', 'service_role');
call paidonce.only_grant('usage', 'sequence paidonce.credit_entries_entry_id_seq', variadic '{}');

-- file: functions/access/has_access.sql
-- Purpose:   say whether the signed-in user has a feature now.
-- Arguments: feature, a lookup key or feature name.
-- Returns:   true or false; false when nobody is signed in.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.has_access(feature text)
returns boolean
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
    return exists (
        select from paidonce.entitlements as e
        where e.user_id = nullif(current_setting('request.jwt.claims', true), '')::pg_catalog.jsonb ->> 'sub'
            and e.feature = has_access.feature
    );
end
$$;

comment on function paidonce.has_access(text) is
    'Whether the signed-in user (the sub of the request''s JWT) has a feature now.';

revoke all on function paidonce.has_access(text) from public;
call paidonce.only_grant('execute', 'function paidonce.has_access(text)', 'authenticated', 'service_role');

-- file: functions/access/why_access.sql
-- Purpose:   explain why a user has a feature, or why not: from the answer back to the subscription, the event that stated it and its
--            first delivery.
-- Arguments: user_id; feature.
-- Returns:   one row per subscription, entitlement summary or customer that has to do with it, those that grant first: granted; reason, a sentence;
--            customer_id, subscription_id, status, price_id, until; event_id, event_type, event_created, delivered_at.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.why_access(user_id text, feature text)
returns table (
    granted boolean, reason text, customer_id text, subscription_id text, status text, price_id text, until timestamptz,
    event_id text, event_type text, event_created timestamptz, delivered_at timestamptz
)
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
    return query
    with reasons as (
        select a.grants as granted,
            coalesce('the subscription names it, but ' || a.refusal, format('price %s of the subscription grants it', f.price_id)) as reason,
            a.customer_id, a.subscription_id, a.status, f.price_id, a.until, s.source_event
        from paidonce.subscription_access as a
        join paidonce.subscriptions as s on s.subscription_id = a.subscription_id
        join paidonce.item_features as f on f.subscription_id = a.subscription_id and f.feature = why_access.feature
        where a.user_id = why_access.user_id
        union all
        select false, coalesce(
                'none of its prices names it; they name ' || (
                    select string_agg(distinct f.feature, ', ') from paidonce.item_features as f where f.subscription_id = a.subscription_id),
                'none of its prices names any feature: set a lookup_key, product metadata or paidonce.price_grants'),
            a.customer_id, a.subscription_id, a.status, null, a.until, s.source_event
        from paidonce.subscription_access as a
        join paidonce.subscriptions as s on s.subscription_id = a.subscription_id
        where a.user_id = why_access.user_id
            and not exists (
                select from paidonce.item_features as f
                where f.subscription_id = a.subscription_id and f.feature = why_access.feature)
        union all
        select why_access.feature = any (e.features) and not c.deleted,
            case
                when why_access.feature <> all (e.features) then 'Stripe''s entitlements of the customer do not have it'
                when c.deleted then 'Stripe''s entitlements have it, but the customer was deleted'
                else 'Stripe''s entitlements of the customer have it'
            end,
            e.customer_id, null, null, null, null, e.source_event
        from paidonce.entitlement_summaries as e
        join paidonce.customers as c on c.customer_id = e.customer_id
        where c.user_id = why_access.user_id
        union all
        select false, 'the customer has no subscription', c.customer_id, null, null, null, null, c.source_event
        from paidonce.customers as c
        where c.user_id = why_access.user_id
            and not exists (select from paidonce.subscriptions as s where s.customer_id = c.customer_id)
        union all
        select false, 'no customer is linked to this user: see paidonce.link_customer', null, null, null, null, null, null
        where not exists (select from paidonce.customers as c where c.user_id = why_access.user_id)
    )
    select r.granted, r.reason, r.customer_id, r.subscription_id, r.status, r.price_id, r.until,
        e.event_id, e.event_type, e.created, d.received_at
    from reasons as r
    left join paidonce.events as e on e.event_id = r.source_event
    left join lateral (
        select min(d.received_at) as received_at from paidonce.deliveries as d where d.event_id = e.event_id
    ) as d on true
    order by r.granted desc, r.subscription_id nulls last, r.price_id;
end
$$;

comment on function paidonce.why_access(text, text) is
    'Why a user has a feature, or why not: one row per reason, with the subscription, event and delivery behind it.';

revoke all on function paidonce.why_access(text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.why_access(text, text)', 'service_role');

-- file: functions/credits/credits_of_price.sql
-- Purpose:   say how many credits one unit of a price is worth: the mapping table first, then the metadata of the price as the line carried
--            it, of the price, of its product.
-- Arguments: price_id; product_id; stated, whether the line carried the whole price; stated_credits, what that price's metadata said.
-- Returns:   credits per unit, 0 for none; null while it cannot be known yet.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.credits_of_price(price_id text, product_id text, stated boolean, stated_credits bigint)
returns bigint
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
    v_credits bigint;
    v_price   pg_catalog.record;
begin
    select max(g.credits) into v_credits from paidonce.price_grants as g where g.price_id = credits_of_price.price_id;
    select p.credits, p.product_id into v_price from paidonce.prices as p where p.price_id = credits_of_price.price_id;
    stated := stated or found;
    v_credits := coalesce(v_credits, stated_credits, v_price.credits);
    if v_credits is not null or not stated then
        return v_credits;
    end if;

    product_id := coalesce(product_id, v_price.product_id);
    if product_id is null then
        return 0;
    end if;
    select coalesce(p.credits, 0) into v_credits from paidonce.products as p where p.product_id = credits_of_price.product_id;
    return v_credits;
end
$$;

comment on function paidonce.credits_of_price(text, text, boolean, bigint) is
    'Credits that one unit of a price is worth; null while price or product are not known yet.';

revoke all on function paidonce.credits_of_price(text, text, boolean, bigint) from public;
call paidonce.only_grant('execute', 'function paidonce.credits_of_price(text, text, boolean, bigint)', variadic '{}');

-- file: functions/credits/enter_credits.sql
-- Purpose:   add one entry of a purchase to the ledger.
-- Arguments: customer_id, user_id, amount, kind, purchase_id; event, the cause, or null.
-- Returns:   nothing.
-- Raises:    23505 when another transaction entered the same at the same time, which the customers lock prevents.
-- Locks:     the new row.
create or replace function paidonce.enter_credits(customer_id text, user_id text, amount bigint, kind text, purchase_id text, event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    insert into paidonce.credit_entries as e (customer_id, user_id, amount, kind, source_key, purchase_id, event_id)
    select enter_credits.customer_id, enter_credits.user_id, enter_credits.amount, enter_credits.kind,
        format('%s:%s:%s', enter_credits.purchase_id, enter_credits.kind, count(e.entry_id) + 1), enter_credits.purchase_id, event ->> 'id'
    from paidonce.purchase_objects as o
    left join paidonce.credit_entries as e on e.purchase_id = o.object_id and e.kind = enter_credits.kind
    where o.purchase_id = enter_credits.purchase_id;
end
$$;

comment on function paidonce.enter_credits(text, text, bigint, text, text, jsonb) is
    'Adds one entry of a purchase to the ledger.';

revoke all on function paidonce.enter_credits(text, text, bigint, text, text, jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.enter_credits(text, text, bigint, text, text, jsonb)', variadic '{}');

-- file: functions/credits/fix_line_credits.sql
-- Purpose:   fix how many credits the lines of a purchase's paid invoices are worth, once; ask for the price where that cannot be known.
-- Arguments: purchase_id; event, the cause, or null.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the lines. The prices and products that it reads are locked, shared, by paidonce.lock_set.
create or replace function paidonce.fix_line_credits(purchase_id text, event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    update paidonce.invoice_lines as l
    set credits = case when l.proration then 0 else paidonce.credits_of_price(l.price_id, l.product_id, l.price_stated, l.stated_credits) end
    from paidonce.purchase_objects as o
    join paidonce.invoices as n on n.invoice_id = o.object_id and n.status = 'paid'
    where o.purchase_id = fix_line_credits.purchase_id
        and l.invoice_id = n.invoice_id and l.credits is null and l.price_id is not null;

    if event is null or not exists (
        select
        from paidonce.purchase_objects as o
        join paidonce.invoices as n on n.invoice_id = o.object_id and n.status = 'paid'
        join paidonce.invoice_lines as l on l.invoice_id = n.invoice_id
        where o.purchase_id = fix_line_credits.purchase_id and l.credits is null and l.price_id is not null
    ) then
        return;
    end if;
    -- In the order of their keys: events of other purchases may ask for the same ones at this moment.
    perform paidonce.request_refetch(event, w.object_type, w.object_id)
    from (
        select distinct g.object_type, g.object_id
        from paidonce.purchase_objects as o
        join paidonce.invoices as n on n.invoice_id = o.object_id and n.status = 'paid'
        join paidonce.invoice_lines as l on l.invoice_id = n.invoice_id
        left join paidonce.prices as p on p.price_id = l.price_id
        left join paidonce.products as d on d.product_id = coalesce(l.product_id, p.product_id)
        cross join lateral (values
            ('price', case when p.price_id is null then l.price_id end),
            ('product', case when d.product_id is null then coalesce(l.product_id, p.product_id) end)
        ) as g (object_type, object_id)
        where o.purchase_id = fix_line_credits.purchase_id and l.credits is null and l.price_id is not null and g.object_id is not null
        order by g.object_id
    ) as w;
end
$$;

comment on function paidonce.fix_line_credits(text, jsonb) is
    'Fixes how many credits the lines of a purchase''s paid invoices are worth.';

revoke all on function paidonce.fix_line_credits(text, jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.fix_line_credits(text, jsonb)', variadic '{}');

-- file: functions/credits/join_purchase.sql
-- Purpose:   note that objects belong to one purchase. Each gets a row as soon as it is named, so that a refund and its payment
--            always have a common row to lock and meet at, whichever comes first. The purchase is named after its smallest id, whatever the order.
-- Arguments: customer_id, session_id, invoice_id, payment_ids (intents and charges); any may be null.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the rows that it writes; all of them belong to the set that paidonce.lock_set has locked.
create or replace function paidonce.join_purchase(customer_id text, session_id text, invoice_id text, payment_ids text[])
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_ids   constant pg_catalog.text[] := array_remove(array[session_id, invoice_id] || payment_ids, null);
    v_known bigint;
    v_bare  boolean;
    v_from  pg_catalog.text[];
    v_name  pg_catalog.text;
begin
    if v_ids = '{}' then
        return;
    end if;
    select count(*), bool_or(o.customer_id is null), array_agg(distinct o.purchase_id) into v_known, v_bare, v_from
    from paidonce.purchase_objects as o where o.object_id = any (v_ids);
    if v_known = (select count(distinct i.id) from unnest(v_ids) as i (id)) and cardinality(v_from) = 1
        and (customer_id is null or not v_bare) then
        return; -- all of it is known
    end if;
    select min(i.id) into v_name from unnest(v_ids || v_from) as i (id);
    insert into paidonce.purchase_objects as o (object_id, kind, purchase_id, customer_id)
    select i.id, case i.id when session_id then 'session' when invoice_id then 'invoice' else 'payment' end, v_name, join_purchase.customer_id
    from (select distinct unnest(v_ids)) as i (id)
    order by i.id
    on conflict on constraint purchase_objects_pkey do nothing;
    update paidonce.purchase_objects as o
    set purchase_id = v_name, customer_id = coalesce(o.customer_id, case when o.object_id = any (v_ids) then join_purchase.customer_id end)
    where (o.purchase_id = any (v_from) and o.purchase_id <> v_name)
        or (o.object_id = any (v_ids) and o.customer_id is null and join_purchase.customer_id is not null);
end
$$;

comment on function paidonce.join_purchase(text, text, text, text[]) is
    'Notes that a session, an invoice and payments belong to one purchase.';

revoke all on function paidonce.join_purchase(text, text, text, text[]) from public;
call paidonce.only_grant('execute', 'function paidonce.join_purchase(text, text, text, text[])', variadic '{}');

-- file: functions/credits/price_grants_changed.sql
-- Purpose:   mark what waited as due, when the mapping table learns of a price.
-- Arguments: none: a trigger.
-- Returns:   null.
-- Raises:    nothing.
-- Locks:     the new row of paidonce.due_work.
create or replace function paidonce.price_grants_changed()
returns trigger
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    if new.credits is not null then
        perform paidonce.mark_due('price', new.price_id, null);
    end if;
    return null;
end
$$;

comment on function paidonce.price_grants_changed() is
    'Trigger: marks what waited for a price as due when the mapping table learns of it.';

revoke all on function paidonce.price_grants_changed() from public;
call paidonce.only_grant('execute', 'function paidonce.price_grants_changed()', variadic '{}');

-- file: functions/credits/request_purchase_link.sql
-- Purpose:   ask Stripe which invoice a refunded or disputed payment paid, where no event has said it.
-- Arguments: event; object_id, any object of the purchase.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the new outbox row.
create or replace function paidonce.request_purchase_link(event jsonb, object_id text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    perform paidonce.request_refetch(event, 'invoice_payment_list', w.payment_id)
    from (
        select coalesce(min(o.object_id) filter (where o.object_id like 'pi\_%'), min(o.object_id)) as payment_id
        from paidonce.purchase_objects as o
        where o.purchase_id = (select i.purchase_id from paidonce.purchase_objects as i where i.object_id = request_purchase_link.object_id)
        having not bool_or(o.kind in ('invoice', 'session') or o.link_known)
    ) as w;
end
$$;

comment on function paidonce.request_purchase_link(jsonb, text) is
    'Asks Stripe which invoice a refunded or disputed payment paid, where no event has said it.';

revoke all on function paidonce.request_purchase_link(jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.request_purchase_link(jsonb, text)', variadic '{}');

-- file: functions/credits/settle_purchase.sql
-- Purpose:   write into the ledger what is missing so that it says what the facts imply: grants, and what refunds and disputes take back.
--            It computes the total that must now be and writes the difference, so it may run at any time and any number of times.
-- Arguments: object_id, any object of the purchase; event, the cause, or null.
-- Returns:   nothing.
-- Raises:    PO404 when credits are due to a customer that has no user yet and the event is what grants them: it is parked.
-- Locks:     the ledger by what it writes; the purchase is locked by paidonce.lock_set.
create or replace function paidonce.settle_purchase(object_id text, event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_purchase pg_catalog.text;
    v_target   pg_catalog.record;
    v_holder   pg_catalog.record;
    v_change   bigint;
begin
    select o.purchase_id into v_purchase from paidonce.purchase_objects as o where o.object_id = settle_purchase.object_id;
    if not found then
        return;
    end if;

    -- Nothing can be due where nothing was paid for yet and nothing was ever entered.
    if not exists (
        select
        from paidonce.purchase_objects as o
        left join paidonce.invoices as n on n.invoice_id = o.object_id
        left join paidonce.checkout_sessions as s on s.session_id = o.object_id
        left join paidonce.payments as y on y.payment_id = o.object_id
        where o.purchase_id = v_purchase and (n.status = 'paid' or s.credits is not null or y.credits is not null)
    ) and not exists (
        select
        from paidonce.purchase_objects as o
        join paidonce.credit_entries as e on e.purchase_id = o.object_id
        where o.purchase_id = v_purchase
    ) then
        return;
    end if;
    perform paidonce.fix_line_credits(v_purchase, event);
    select * into v_target from paidonce.credit_targets as t where t.purchase_id = v_purchase;

    if v_target.granted = 0 and v_target.entered_grants = 0 then
        return;
    end if;
    if v_target.user_id is null then
        if v_target.customer_id is not null and paidonce.projection_of(event ->> 'type') in ('invoice', 'checkout_session', 'payment') then
            raise exception 'customer % is not linked to a user yet', v_target.customer_id using errcode = 'PO404';
        end if;
        return;
    end if;

    v_change := v_target.granted - v_target.entered_grants;
    if v_change > 0 then
        perform paidonce.enter_credits(v_target.customer_id, v_target.user_id, v_change, 'grant', v_purchase, event);
    end if;
    v_change := v_target.granted - v_target.reversed - v_target.entered - greatest(v_change, 0);
    if v_change <> 0 then
        -- Taken back from whom it was given to, also after the customer has got another user.
        select e.customer_id, e.user_id into v_holder
        from paidonce.credit_entries as e
        join paidonce.purchase_objects as o on o.object_id = e.purchase_id
        where o.purchase_id = v_purchase and e.kind = 'grant'
        order by e.entry_id
        limit 1;
        perform paidonce.enter_credits(
            v_holder.customer_id, v_holder.user_id, v_change, case when v_change > 0 then 'restore' else 'reversal' end, v_purchase, event
        );
    end if;
end
$$;

comment on function paidonce.settle_purchase(text, jsonb) is
    'Writes into the ledger what is missing so that it says what the facts of a purchase imply.';

revoke all on function paidonce.settle_purchase(text, jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.settle_purchase(text, jsonb)', variadic '{}');

-- file: functions/credits/spend_credits.sql
-- Purpose:   take credits from a user's balance, once per key. Refuses to go below zero.
-- Arguments: user_id; amount, a positive number of credits; key, names this spending, at most 200 characters.
-- Returns:   the balance afterwards. The same key again takes nothing and returns the balance as it is.
-- Raises:    PO402 when the balance is too small; 22023 when an argument is missing or the key was used for another amount; 40001 under a
--            stricter isolation level than read committed.
-- Locks:     the user, until the end of the transaction: all that changes the balance holds that lock.
create or replace function paidonce.spend_credits(user_id text, amount bigint, key text)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_key     constant pg_catalog.text := format(':%s:%s:%s', length(user_id), user_id, key);
    v_left    bigint := amount;
    v_balance bigint;
    v_spent   bigint;
    v_part    pg_catalog.record;
begin
    perform paidonce.require_read_committed();
    if coalesce(user_id, '') = '' or coalesce(key, '') = '' or length(key) > 200 or coalesce(amount, 0) <= 0 then
        raise exception 'spend_credits needs a user, a positive amount and a key of 1 to 200 characters'
            using errcode = 'invalid_parameter_value';
    end if;
    perform paidonce.lock_set('{}', '{}', array[user_id], '{}');

    select coalesce(sum(b.balance), 0) into v_balance from paidonce.credit_balances as b where b.user_id = spend_credits.user_id;
    select -sum(e.amount) into v_spent from paidonce.credit_entries as e
    where e.user_id = spend_credits.user_id and e.kind = 'spend' and ltrim(e.source_key, 'spend#0123456789') = v_key;

    if v_spent is not null then
        if v_spent <> amount then
            raise exception 'key % was used to spend %, not %', key, v_spent, amount using errcode = 'invalid_parameter_value';
        end if;
        return v_balance;
    end if;
    if v_balance < amount then
        raise exception 'the balance is %, too little to spend %', v_balance, amount using errcode = 'PO402';
    end if;

    -- Each customer's share is taken where it came in, so that the balance of each customer stays true.
    for v_part in
        select b.customer_id, least(b.balance, v_balance) as balance, row_number() over (order by b.customer_id nulls last) as number
        from paidonce.credit_balances as b
        where b.user_id = spend_credits.user_id and b.balance > 0
        order by 3
    loop
        insert into paidonce.credit_entries (customer_id, user_id, amount, kind, source_key)
        values (v_part.customer_id, spend_credits.user_id, -least(v_part.balance, v_left), 'spend',
            'spend' || case when v_part.number > 1 then '#' || v_part.number else '' end || v_key);
        v_left := v_left - least(v_part.balance, v_left);
        exit when v_left = 0;
    end loop;
    return v_balance - amount;
end
$$;

comment on function paidonce.spend_credits(text, bigint, text) is
    'Takes credits from a user''s balance, once per key, and returns what is left; raises PO402 rather than going below zero.';

revoke all on function paidonce.spend_credits(text, bigint, text) from public;
call paidonce.only_grant('execute', 'function paidonce.spend_credits(text, bigint, text)', 'service_role');

-- file: functions/due/mark_due.sql
-- Purpose:   mark what has become possible, to be done after this transaction by paidonce.run_due.
-- Arguments: kind and subject, as in paidonce.due_work; cause, the event that made it possible, or null.
-- Returns:   nothing. Marking twice does no harm: what is done already is found done.
-- Raises:    23514 when the kind is unknown.
-- Locks:     the new row.
create or replace function paidonce.mark_due(kind text, subject text, cause text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    insert into paidonce.due_work (kind, subject, cause) values (mark_due.kind, mark_due.subject, mark_due.cause);
    perform paidonce.notify_outbox();
end
$$;

comment on function paidonce.mark_due(text, text, text) is
    'Marks what has become possible as due.';

revoke all on function paidonce.mark_due(text, text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.mark_due(text, text, text)', variadic '{}');

-- file: functions/due/next_due.sql
-- Purpose:   find the next thing to do of an item: of a customer its parked events, oldest first, then its purchases; of a price the
--            invoices with paid lines that waited for it.
-- Arguments: item.
-- Returns:   kind event or purchase, its subject, and how far the item has got with it; an event or purchase by itself is returned as it is;
--            kind null when nothing is left.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.next_due(item paidonce.due_work)
returns paidonce.due_work
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
    v_next paidonce.due_work := item;
begin
    if item.kind in ('event', 'purchase') then
        return item;
    end if;
    v_next.kind := null;
    if item.kind = 'customer' and coalesce(item.done_until_id, '') not like '/%' then
        select 'event', e.event_id, coalesce(e.created, 'infinity'), e.event_id
        into v_next.kind, v_next.subject, v_next.done_until, v_next.done_until_id
        from paidonce.events as e
        where e.customer_id = item.subject and e.status = 'parked'
            and (coalesce(e.created, 'infinity'), e.event_id) > (coalesce(item.done_until, '-infinity'), coalesce(item.done_until_id, ''))
        order by coalesce(e.created, 'infinity'), e.event_id
        limit 1;
    end if;
    if item.kind = 'customer' and v_next.kind is null then
        select 'purchase', min(o.purchase_id), '/' || min(o.purchase_id)
        into v_next.kind, v_next.subject, v_next.done_until_id
        from paidonce.purchase_objects as o
        where o.customer_id = item.subject and '/' || o.purchase_id > coalesce(substring(item.done_until_id from '^/.*'), '/')
        having min(o.purchase_id) is not null;
    elsif item.kind = 'price' then
        select 'purchase', n.invoice_id, n.invoice_id
        into v_next.kind, v_next.subject, v_next.done_until_id
        from paidonce.invoice_lines as l
        join paidonce.invoices as n on n.invoice_id = l.invoice_id
        where l.credits is null and n.status = 'paid' and l.invoice_id > coalesce(item.done_until_id, '')
            and l.price_id = item.subject
        order by l.invoice_id
        limit 1;
    end if;
    return v_next;
end
$$;

comment on function paidonce.next_due(paidonce.due_work) is
    'The next event or purchase that an item of due work is about.';

revoke all on function paidonce.next_due(paidonce.due_work) from public;
call paidonce.only_grant('execute', 'function paidonce.next_due(paidonce.due_work)', variadic '{}');

-- file: functions/due/put_off.sql
-- Purpose:   keep due what could not be done now, so that it holds up nothing else. Of a customer or a price only what was tried is put off, as an
--            item of its own, and the rest goes on behind it.
-- Arguments: item; error, why it could not be done.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the item's row, which the caller has.
create or replace function paidonce.put_off(item paidonce.due_work, error text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_next paidonce.due_work;
begin
    v_next := paidonce.next_due(item);
    if v_next.kind is not null and v_next.kind <> item.kind then
        insert into paidonce.due_work (kind, subject, cause, attempts, next_attempt_at, error)
        values (v_next.kind, v_next.subject, item.cause, 1, clock_timestamp() + interval '1 second', put_off.error);
        update paidonce.due_work as d
        set done_until = v_next.done_until, done_until_id = v_next.done_until_id, next_attempt_at = clock_timestamp()
        where d.due_id = item.due_id;
        return;
    end if;
    update paidonce.due_work as d
    set attempts = d.attempts + 1, error = put_off.error,
        next_attempt_at = clock_timestamp() + least(power(2, least(d.attempts, 10)), 300) * interval '1 second'
    where d.due_id = item.due_id;
end
$$;

comment on function paidonce.put_off(paidonce.due_work, text) is
    'Keeps due what could not be done now, behind what can.';

revoke all on function paidonce.put_off(paidonce.due_work, text) from public;
call paidonce.only_grant('execute', 'function paidonce.put_off(paidonce.due_work, text)', variadic '{}');

-- file: functions/due/run_due.sql
-- Purpose:   do what is due: see paidonce.run_due_items, which this calls. In SQL, since plpgsql has no parameter named limit.
-- Arguments: limit, how many items at most; call it with 1 in a loop, and each item is a transaction of its own.
-- Returns:   how many were run; 0 when nothing is due at the moment, or all of it is busy.
-- Raises:    22023 when the limit is not above zero; 40001 under a stricter isolation level than read committed.
-- Locks:     as paidonce.run_due_items.
create or replace function paidonce.run_due("limit" integer)
returns integer
language sql
volatile
security definer
set search_path = ''
as $$
    select paidonce.run_due_items($1);
$$;

comment on function paidonce.run_due(integer) is
    'Does what is due, and returns how many items it ran; call it with 1 in a loop until it returns 0.';

revoke all on function paidonce.run_due(integer) from public;
call paidonce.only_grant('execute', 'function paidonce.run_due(integer)', 'service_role', 'paidonce_worker');

-- file: functions/due/run_due_item.sql
-- Purpose:   do one step of what is due: one parked event, or one purchase; and note how far its item has got.
-- Arguments: item; patience, how long to wait for a lock.
-- Returns:   nothing. The item's row is deleted once nothing of it is left.
-- Raises:    what makes a whole delivery try again (see handle_stripe_event). An event that fails is kept as failed.
-- Locks:     as an event does, or as all that belongs to the purchase (see paidonce.lock_set).
create or replace function paidonce.run_due_item(item paidonce.due_work, patience text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
set lock_timeout = '3s'
as $$
declare
    v_next    paidonce.due_work;
    v_payload pg_catalog.jsonb;
begin
    perform set_config('lock_timeout', patience, true);
    if item.kind in ('price', 'product') and item.done_until_id is null then
        perform paidonce.wait_for_readers(item.subject);
    end if;
    if item.kind = 'product' then
        -- Lines wait by price.
        insert into paidonce.due_work (kind, subject, cause)
        select distinct 'price', l.price_id, item.cause
        from paidonce.invoice_lines as l
        left join paidonce.prices as p on p.price_id = l.price_id
        where l.credits is null and l.price_id is not null and coalesce(l.product_id, p.product_id) = item.subject;
        delete from paidonce.due_work as d where d.due_id = item.due_id;
        return;
    end if;
    v_next := paidonce.next_due(item);
    if v_next.kind = 'event' then
        select e.payload into v_payload from paidonce.events as e where e.event_id = v_next.subject and e.status = 'parked';
        if found then
            perform public.handle_stripe_event(
                v_payload || jsonb_build_object('paidonce', jsonb_build_object('source', 'link', 'patience', patience))
            );
        end if;
    elsif v_next.kind = 'purchase' then
        perform paidonce.lock_set(array[v_next.subject], '{}', '{}', '{}');
        perform paidonce.settle_purchase(v_next.subject, case when item.cause is not null then jsonb_build_object('id', item.cause) end);
    end if;
    if v_next.kind is null or v_next.kind = item.kind then
        delete from paidonce.due_work as d where d.due_id = item.due_id;
    else
        -- Behind what else is due, so that none of many waits for all of one.
        update paidonce.due_work as d
        set done_until = v_next.done_until, done_until_id = v_next.done_until_id, next_attempt_at = clock_timestamp()
        where d.due_id = item.due_id;
    end if;
end
$$;

comment on function paidonce.run_due_item(paidonce.due_work, text) is
    'Does one step of what is due: one parked event, or one purchase.';

revoke all on function paidonce.run_due_item(paidonce.due_work, text) from public;
call paidonce.only_grant('execute', 'function paidonce.run_due_item(paidonce.due_work, text)', variadic '{}');

-- file: functions/due/run_due_items.sql
-- Purpose:   do what is due: parked events and purchases of customers whose user became known, purchases that waited for a price.
--            A function cannot commit, so call it with 1 and loop: each item is then a transaction of its own. With a larger limit it waits for no
--            lock once it holds those of an item: what is busy is passed over and stays due.
-- Arguments: max_items, how many items at most.
-- Returns:   how many were run; 0 when nothing is due at the moment, or all of it is busy.
-- Raises:    22023 when the limit is not above zero; 40001 under a stricter isolation level than read committed.
-- Locks:     the items' rows, passing over those that others have; then as the items do (see paidonce.lock_set). An item that cannot be run now
--            is put off, a little longer each time, and holds up no other.
create or replace function paidonce.run_due_items(max_items integer)
returns integer
language plpgsql
volatile
security invoker
set search_path = ''
set lock_timeout = '3s'
as $$
declare
    v_item   paidonce.due_work;
    v_ran    integer := 0;
    v_tried  bigint[] := array[]::bigint[];
    v_error  pg_catalog.text;
begin
    perform paidonce.require_read_committed();
    if coalesce(max_items, 0) < 1 then
        raise exception 'run_due needs a limit above zero' using errcode = 'invalid_parameter_value';
    end if;
    while v_ran < max_items and cardinality(v_tried) < max_items + 10 loop
        select d.* into v_item
        from paidonce.due_work as d
        where d.next_attempt_at <= clock_timestamp() and d.due_id <> all (v_tried)
        order by d.next_attempt_at, d.due_id
        limit 1
        for update skip locked;
        exit when not found;
        begin
            perform paidonce.run_due_item(v_item, case when v_ran > 0 then '1ms' when v_tried = array[]::bigint[] then '3s' else '200ms' end);
            v_ran := v_ran + 1;
        exception
            when others then
                -- Busy, for the most part. Its locks are given back, and others may be run before it is tried again.
                get stacked diagnostics v_error = message_text;
                v_tried := v_tried || v_item.due_id;
                if v_ran = 0 then
                    perform paidonce.put_off(v_item, v_error);
                end if;
        end;
    end loop;
    return v_ran;
end
$$;

comment on function paidonce.run_due_items(integer) is
    'Does what is due, and returns how many items it ran.';

revoke all on function paidonce.run_due_items(integer) from public;
call paidonce.only_grant('execute', 'function paidonce.run_due_items(integer)', variadic '{}');

-- file: functions/due/wait_for_readers.sql
-- Purpose:   wait until nobody is settling a purchase by what was known of a price or product before. Whoever reads its worth holds its id,
--            shared, until the end; who begins after this reads what is known now.
-- Arguments: goods_id, a price or product.
-- Returns:   nothing.
-- Raises:    55P03 when that takes longer than lock_timeout.
-- Locks:     the id, only for a moment: kept, it would be a lock before those of the purchases that come next.
create or replace function paidonce.wait_for_readers(goods_id text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    perform pg_advisory_xact_lock(hashtextextended(goods_id, 0));
    raise exception using errcode = 'PO000';
exception
    when sqlstate 'PO000' then
        null; -- leaving the block by an error has given the lock back
end
$$;

comment on function paidonce.wait_for_readers(text) is
    'Waits until nobody is settling a purchase by what was known of a price or product before.';

revoke all on function paidonce.wait_for_readers(text) from public;
call paidonce.only_grant('execute', 'function paidonce.wait_for_readers(text)', variadic '{}');

-- file: functions/events/admit.sql
-- Purpose:   say whether an event has business here and what would run for it: the one look at the settings and the registry per event.
-- Arguments: event_type; livemode and account of the event.
-- Returns:   refusal, why it is to be ignored as a sentence, or null; handlers, the quoted names of the registered functions in the order in
--            which they run, each once; metadata_key, where metadata names a user.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.admit(event_type text, livemode boolean, account text,
    out refusal text, out handlers text[], out metadata_key text)
returns record
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
    v_livemode boolean;
    v_account  pg_catalog.text;
begin
    select s.livemode, s.account, s.user_id_metadata_key,
        array(
            select h.function_name
            from paidonce.handlers as h
            where h.enabled
                and (h.event_type in (admit.event_type, '*')
                    or (h.event_type like '%.*' and starts_with(admit.event_type, rtrim(h.event_type, '*'))))
            group by h.function_name
            order by min(h.position), h.function_name
        )
    into v_livemode, v_account, metadata_key, handlers
    from paidonce.settings as s;
    if v_livemode is distinct from admit.livemode and v_livemode is not null then
        refusal := format('livemode is %s, this installation accepts %s',
            case admit.livemode when true then 'true' when false then 'false' else 'missing' end, case when v_livemode then 'true' else 'false' end);
    elsif v_account is distinct from admit.account and v_account is not null then
        refusal := format('account is %s, this installation accepts %s', coalesce(admit.account, 'missing'), v_account);
    elsif handlers = '{}' and paidonce.projection_of(event_type) is null then
        refusal := format('no handler for %s', event_type);
    end if;
end
$$;

comment on function paidonce.admit(text, boolean, text) is
    'Whether an event has business here (livemode, account, a handler), and which effects run for it.';

revoke all on function paidonce.admit(text, boolean, text) from public;
call paidonce.only_grant('execute', 'function paidonce.admit(text, boolean, text)', variadic '{}');

-- file: functions/events/replay.sql
-- Purpose:   run a stored event again, from its stored payload, through the same function as a delivery.
-- Arguments: event_id; force, to run an event once more that is already processed.
-- Returns:   what handle_stripe_event returns; "duplicate" when it was already applied and not forced.
-- Raises:    P0002 when no such event is stored; else as handle_stripe_event. A forced run that does not end in
--            "processed" raises its error: what the first run did stands, and the event stays processed.
-- Locks:     as handle_stripe_event.
create or replace function paidonce.replay(event_id text, force boolean default false)
returns jsonb
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_payload pg_catalog.jsonb;
    v_status  pg_catalog.text;
    v_result  pg_catalog.jsonb;
begin
    select e.payload, e.status into v_payload, v_status from paidonce.events as e where e.event_id = replay.event_id for update;
    if not found then
        raise exception 'no event % is stored', coalesce(event_id, 'null')
            using errcode = 'no_data_found', hint = 'Check the id, or have Stripe send the event again.';
    end if;

    v_result := public.handle_stripe_event(
        v_payload || jsonb_build_object('paidonce', jsonb_build_object('source', 'replay', 'force', coalesce(force, false)))
    );

    if v_status = 'processed' and v_result ->> 'outcome' not in ('processed', 'duplicate') then
        raise exception 'the forced replay of % ended in "%": %', event_id, v_result ->> 'outcome',
            coalesce(v_result ->> 'error', (select e.error from paidonce.events as e where e.event_id = replay.event_id))
            using errcode = coalesce(v_result ->> 'sqlstate', 'object_not_in_prerequisite_state'),
                hint = 'Nothing was changed: the event is still processed, as it was.';
    end if;
    return v_result;
end
$$;

comment on function paidonce.replay(text, boolean) is
    'Runs a stored event again. An event already processed stays untouched unless force is true. Owner only.';

revoke all on function paidonce.replay(text, boolean) from public;
call paidonce.only_grant('execute', 'function paidonce.replay(text, boolean)', variadic '{}');

-- file: functions/events/require_read_committed.sql
-- Purpose:   refuse to work from a snapshot that is older than the locks it is about to take. Every effect reads
--            under its customer's lock what others committed just before; a transaction under repeatable read or
--            serializable would not see it, and no row it updates would tell.
-- Arguments: none.
-- Returns:   nothing.
-- Raises:    40001 under repeatable read and serializable.
-- Locks:     nothing.
create or replace function paidonce.require_read_committed()
returns void
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
    if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
        raise exception 'paidonce works at read committed, this transaction is %', current_setting('transaction_isolation')
            using errcode = 'serialization_failure',
                hint = 'alter role <the role that calls> set default_transaction_isolation = ''read committed''';
    end if;
end
$$;

comment on function paidonce.require_read_committed() is
    'Raises 40001 in a transaction stricter than read committed.';

revoke all on function paidonce.require_read_committed() from public;
call paidonce.only_grant('execute', 'function paidonce.require_read_committed()', variadic '{}');

-- file: functions/handlers/off.sql
-- Purpose:   stop running an effect for a type of event.
-- Arguments: event_type and handler, as they were registered.
-- Returns:   nothing. The row stays, disabled, and keeps its place in the order.
-- Raises:    P0002 when that effect is not registered for that type.
-- Locks:     the registry's row.
create or replace function paidonce.off(event_type text, handler regprocedure)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    update paidonce.handlers as h
    set enabled = false
    where h.event_type = off.event_type and h.handler = off.handler::pg_catalog.text;

    if not found then
        raise exception '% is not registered for %', handler, event_type
            using errcode = 'no_data_found', hint = 'See: select event_type, handler from paidonce.handlers';
    end if;
end
$$;

comment on function paidonce.off(text, regprocedure) is
    'Stops running an effect for a type of event. Owner only.';

revoke all on function paidonce.off(text, regprocedure) from public;
call paidonce.only_grant('execute', 'function paidonce.off(text, regprocedure)', variadic '{}');

-- file: functions/handlers/on.sql
-- Purpose:   register an effect: from now on the function runs for every event of that type, after the
--            built-in effects, in the order of registration, under their locks and in their transaction.
-- Arguments: event_type, an exact type, a family such as customer.subscription.*, or *;
--            handler, a function that takes one jsonb, the event.
-- Returns:   nothing. Registering twice changes nothing; after paidonce.off it takes its old place again.
-- Raises:    22023 when the pattern or the function cannot be registered.
-- Locks:     the registry's row.
create or replace function paidonce.on(event_type text, handler regprocedure)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_function pg_catalog.record;
begin
    select p.prokind, p.proretset, p.pronargs, p.proargtypes[0] as argument,
        format('%I.%I', n.nspname, p.proname) as name
    into v_function
    from pg_catalog.pg_proc as p
    join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
    where p.oid = "on".handler;

    if not found or v_function.prokind <> 'f' or v_function.proretset
        or v_function.pronargs <> 1 or v_function.argument <> 'pg_catalog.jsonb'::pg_catalog.regtype then
        raise exception 'an effect must be a plain function of one jsonb, % is not', coalesce(handler::pg_catalog.text, 'null')
            using errcode = 'invalid_parameter_value',
                hint = 'Declare it as: create function app.my_effect(event jsonb) returns void ...';
    end if;
    if event_type is null or event_type !~ '^([a-zA-Z0-9_]+(\.[a-zA-Z0-9_]+)*(\.\*)?|\*)$' then
        raise exception '% is not an event type', coalesce(quote_literal(event_type), 'null')
            using errcode = 'invalid_parameter_value',
                hint = 'Name an exact type (invoice.paid), a family (customer.subscription.*) or *.';
    end if;

    insert into paidonce.handlers as h (event_type, handler, function_name)
    values ("on".event_type, "on".handler::pg_catalog.text, v_function.name)
    on conflict on constraint handlers_pkey do update
    set enabled = true, function_name = excluded.function_name;
end
$$;

comment on function paidonce.on(text, regprocedure) is
    'Registers an effect of your own for a type of event: select paidonce.on(''invoice.paid'', ''app.receipt(jsonb)''). Owner only.';

revoke all on function paidonce.on(text, regprocedure) from public;
call paidonce.only_grant('execute', 'function paidonce.on(text, regprocedure)', variadic '{}');

-- file: functions/handlers/run_handlers.sql
-- Purpose:   call the registered effects of an event, one after the other.
-- Arguments: handlers, as paidonce.admit gives them; event.
-- Returns:   nothing.
-- Raises:    42501 when the session has prepared types of its own for the effects to fall for; whatever an effect raises; 42883 where a registered function is gone; the error of a deferred constraint
--            that the effects leave violated, which would otherwise come up at the commit, when it cannot be kept.
-- Locks:     whatever an effect locks.
create or replace function paidonce.run_handlers(handlers text[], event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_handler pg_catalog.text;
begin
    -- Postgres looks for types in the session's temporary schema first. A caller with a type named text of its own there would
    -- have every effect that declares a text run the caller's code with the owner's rights.
    if pg_my_temp_schema() <> 0 and exists (
        select from pg_catalog.pg_type as t
        join pg_catalog.pg_type as c on c.typname = t.typname and c.typnamespace = 'pg_catalog'::pg_catalog.regnamespace
        where t.typnamespace = pg_my_temp_schema()
    ) then
        raise exception 'the session has temporary types named like built-in ones' using errcode = 'insufficient_privilege';
    end if;

    foreach v_handler in array handlers loop
        execute format('select %s($1)', v_handler) using event;
    end loop;

    begin
        set constraints all immediate;
        -- Leaving by an error puts the constraints back to what they were for whatever runs next.
        raise exception using errcode = 'PO000';
    exception
        when sqlstate 'PO000' then
            null;
    end;
end
$$;

comment on function paidonce.run_handlers(text[], jsonb) is
    'Calls the registered effects of an event in their order.';

revoke all on function paidonce.run_handlers(text[], jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.run_handlers(text[], jsonb)', variadic '{}');

-- file: functions/link/link.sql
-- Purpose:   give a customer its user. The first link wins; another user named later changes nothing and is kept in link_conflicts.
--            What waited for the first link, parked events and purchases, is due after it: see paidonce.run_due.
-- Arguments: customer_id, user_id (a null or blank one links nothing); event_id, the cause, or null when it is a person.
-- Returns:   true when the customer belongs to that user now.
-- Raises:    nothing.
-- Locks:     the customer's row, which paidonce.lock_set has locked and made.
create or replace function paidonce.link(customer_id text, user_id text, event_id text)
returns boolean
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_owner pg_catalog.text;
begin
    if coalesce(customer_id, '') = '' or coalesce(user_id, '') = '' then
        return false;
    end if;

    select c.user_id into v_owner from paidonce.customers as c where c.customer_id = link.customer_id;
    if v_owner is null then
        update paidonce.customers as c
        set user_id = link.user_id, linked_at = clock_timestamp(), link_event = link.event_id
        where c.customer_id = link.customer_id;
        if exists (select from paidonce.events as e where e.customer_id = link.customer_id and e.status = 'parked')
            or exists (select from paidonce.invoices as n where n.customer_id = link.customer_id and n.status = 'paid')
            or exists (select from paidonce.payments as p where p.customer_id = link.customer_id and p.credits is not null)
            or exists (select from paidonce.checkout_sessions as s where s.customer_id = link.customer_id and s.credits is not null) then
            perform paidonce.mark_due('customer', link.customer_id, link.event_id);
        end if;
    elsif v_owner <> user_id then
        insert into paidonce.link_conflicts as l (customer_id, user_id, event_id)
        values (link.customer_id, link.user_id, link.event_id)
        on conflict on constraint link_conflicts_pkey do nothing;
    end if;

    return coalesce(v_owner, user_id) = user_id;
end
$$;

comment on function paidonce.link(text, text, text) is
    'Gives a customer its user; the first link wins, a contradiction is kept in link_conflicts.';

revoke all on function paidonce.link(text, text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.link(text, text, text)', variadic '{}');

-- file: functions/link/link_customer.sql
-- Purpose:   link a customer to your user by hand, for instance when you make the customer yourself before any checkout.
-- Arguments: customer_id; user_id, a Supabase uuid or any id of yours, as text.
-- Returns:   true when the customer belongs to that user now; false, with a warning, when it already had another:
--            the first link wins and the contradiction is kept in paidonce.link_conflicts.
-- Raises:    22023 when an argument is missing; 40001 under a stricter isolation level than read committed.
-- Locks:     the customer's row and the user (see paidonce.lock_set). What waited for the link is run afterwards, by paidonce.run_due.
create or replace function paidonce.link_customer(customer_id text, user_id text)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    perform paidonce.require_read_committed();
    if coalesce(customer_id, '') = '' or coalesce(user_id, '') = '' then
        raise exception 'link_customer needs a customer id and a user id'
            using errcode = 'invalid_parameter_value';
    end if;
    perform paidonce.lock_set('{}', array[customer_id], array[user_id], '{}');
    if paidonce.link(customer_id, user_id, null) then
        return true;
    end if;
    raise warning 'customer % already belongs to another user and stays there', customer_id
        using hint = 'See paidonce.customers and paidonce.link_conflicts; if the first link is wrong, correct it there as the owner.';
    return false;
end
$$;

comment on function paidonce.link_customer(text, text) is
    'Links a customer to your user; what waited for it is due then. The first link wins; returns whether the customer is that user''s.';

revoke all on function paidonce.link_customer(text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.link_customer(text, text)', 'service_role');

-- file: functions/link/link_from_metadata.sql
-- Purpose:   link a customer to the user whom an object's metadata names, if any.
-- Arguments: event; object, which has the metadata; customer_id, which may be null.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the customer's row.
create or replace function paidonce.link_from_metadata(event jsonb, object jsonb, customer_id text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    if jsonb_typeof(object -> 'metadata') = 'object' and object -> 'metadata' <> '{}' then
        perform paidonce.link(
            link_from_metadata.customer_id,
            nullif(btrim(object -> 'metadata' ->> (select s.user_id_metadata_key from paidonce.settings as s)), ''),
            event ->> 'id'
        );
    end if;
end
$$;

comment on function paidonce.link_from_metadata(jsonb, jsonb, text) is
    'Links a customer to the user whom an object''s metadata names, if any.';

revoke all on function paidonce.link_from_metadata(jsonb, jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.link_from_metadata(jsonb, jsonb, text)', variadic '{}');

-- file: functions/lock/lock_event.sql
-- Purpose:   take every lock that an event or a snapshot needs, before any effect reads: see paidonce.lock_set.
-- Arguments: event; object, what it is about; customer_id, whom the object names, or null; metadata_key, where its metadata names a user.
-- Returns:   nothing.
-- Raises:    55P03 when a lock is not had within lock_timeout.
-- Locks:     the set of all that the event names.
create or replace function paidonce.lock_event(event jsonb, object jsonb, customer_id text, metadata_key text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_ids   pg_catalog.text[];
    v_goods pg_catalog.text[] := array[]::pg_catalog.text[];
begin
    if object ->> 'object' in ('subscription', 'customer', 'price', 'product', 'plan') then
        v_ids := array[object ->> 'id']; -- nothing that they name is of a purchase that they change
    else
        v_ids := paidonce.read_named_ids(object);
        v_goods := paidonce.read_line_goods(object);
    end if;
    perform paidonce.lock_set(
        v_ids,
        array_remove(array[lock_event.customer_id], null),
        array_remove(array[nullif(object ->> 'client_reference_id', ''), nullif(btrim(object #>> array['metadata', metadata_key]), '')], null),
        v_goods,
        coalesce(event ->> 'account', event ->> 'context'),
        case jsonb_typeof(event -> 'livemode') when 'boolean' then (event -> 'livemode')::boolean end
    );
end
$$;

comment on function paidonce.lock_event(jsonb, jsonb, text, text) is
    'Takes every lock that an event needs, in the one order of locks.';

revoke all on function paidonce.lock_event(jsonb, jsonb, text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.lock_event(jsonb, jsonb, text, text)', variadic '{}');

-- file: functions/lock/lock_set.sql
-- Purpose:   serialise whatever touches one purchase, one customer or one user: the one place where locks are taken. The set is looked up, locked
--            in the one order, and looked up again; if it has grown meanwhile, all of it is given back and the larger one is taken. So nothing
--            ever waits for a lock that comes before one it holds, and no circle of waits can close. Nothing later in the transaction locks
--            outside the set; what else can be waited for is only a unique key, and those are written in the order of their keys.
-- Arguments: ids of objects; customers, their ids; users, their ids; goods, prices and products whose worth will be read; account and livemode of
--            customers that have to be made.
-- Returns:   nothing.
-- Raises:    55P03 when a lock is not had within lock_timeout.
-- Locks:     advisory locks of the transaction, in the order of their numbers: the ids, the other objects of their purchases, and users;
--            shared, prices and products. Then the customers' rows, made if missing, in the order of their ids.
create or replace function paidonce.lock_set(ids text[], customers text[], users text[], goods text[], account text default null, livemode boolean default null)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_set    pg_catalog.record;
    v_again  pg_catalog.record;
    v_locked bigint;
begin
    v_set := paidonce.lock_set_of(ids, customers, users, goods);
    loop
        begin
            perform case when k.shared then pg_advisory_xact_lock_shared(k.key) else pg_advisory_xact_lock(k.key) end
            from (
                select e.key, false as shared from unnest(v_set.exclusive) as e (key)
                union all
                select s.key, true from unnest(v_set.shared) as s (key) where s.key <> all (v_set.exclusive)
                order by 1
            ) as k;
            perform from paidonce.customers as c where c.customer_id = any (v_set.customer_ids) order by c.customer_id for update;
            get diagnostics v_locked = row_count;
            if v_locked < cardinality(v_set.customer_ids) then
                insert into paidonce.customers (customer_id, account, livemode)
                select m.id, lock_set.account, lock_set.livemode from unnest(v_set.customer_ids) as m (id) order by m.id
                on conflict on constraint customers_pkey do nothing;
                perform from paidonce.customers as c where c.customer_id = any (v_set.customer_ids) order by c.customer_id for update;
            end if;
            v_again := paidonce.lock_set_of(ids, customers, users, goods);
            if v_again.exclusive <@ v_set.exclusive and v_again.shared <@ (v_set.exclusive || v_set.shared)
                and v_again.customer_ids <@ v_set.customer_ids then
                return;
            end if;
            raise exception using errcode = 'PO001';
        exception
            when sqlstate 'PO001' then
                v_set := v_again; -- leaving the block by an error has given everything back
        end;
    end loop;
end
$$;

comment on function paidonce.lock_set(text[], text[], text[], text[], text, boolean) is
    'Takes every lock that a change of these objects, customers and users needs, in the one order of locks.';

revoke all on function paidonce.lock_set(text[], text[], text[], text[], text, boolean) from public;
call paidonce.only_grant('execute', 'function paidonce.lock_set(text[], text[], text[], text[], text, boolean)', variadic '{}');

-- file: functions/lock/lock_set_of.sql
-- Purpose:   say what belongs together with some objects, customers and users, by the facts that are stored now.
-- Arguments: as paidonce.lock_set.
-- Returns:   exclusive and shared, numbers of advisory locks; customer_ids, in order.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.lock_set_of(ids text[], customers text[], users text[], goods text[],
    out exclusive bigint[], out shared bigint[], out customer_ids text[])
returns record
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_objects pg_catalog.text[];
    v_users   pg_catalog.text[] := users;
    v_goods   pg_catalog.text[] := goods;
begin
    customer_ids := customers;
    select array_agg(o.object_id), array_agg(o.customer_id) filter (where o.customer_id is not null)
    into v_objects, customer_ids
    from paidonce.purchase_objects as o
    where o.purchase_id in (select n.purchase_id from paidonce.purchase_objects as n where n.object_id = any (ids));
    customer_ids := array(select distinct c.id from unnest(customer_ids || customers) as c (id) where c.id is not null order by 1);
    if v_objects is not null then
        v_users := v_users || array(
            select s.user_id from paidonce.checkout_sessions as s where s.session_id = any (v_objects) and s.user_id is not null
            union all
            select p.user_id from paidonce.payments as p where p.payment_id = any (v_objects) and p.user_id is not null
        );
        v_goods := v_goods || array(
            select g.id
            from paidonce.invoice_lines as l
            cross join lateral (values (l.price_id), (l.product_id)) as g (id)
            where l.invoice_id = any (v_objects) and l.credits is null and g.id is not null
        );
    end if;
    v_users := v_users || array(
        select c.user_id from paidonce.customers as c where c.customer_id = any (lock_set_of.customer_ids) and c.user_id is not null
    );
    if v_goods <> '{}' then
        v_goods := v_goods || array(select p.product_id from paidonce.prices as p where p.price_id = any (v_goods) and p.product_id is not null);
    end if;
    exclusive := array(
        select distinct hashtextextended(k.id, 0)
        from (select unnest(ids || v_objects) union all select 'user:' || unnest(v_users)) as k (id)
        where k.id is not null
    );
    shared := array(select distinct hashtextextended(k.id, 0) from unnest(v_goods) as k (id) where k.id is not null);
end
$$;

comment on function paidonce.lock_set_of(text[], text[], text[], text[]) is
    'What belongs together with some objects, customers and users, as numbers of advisory locks and rows of customers.';

revoke all on function paidonce.lock_set_of(text[], text[], text[], text[]) from public;
call paidonce.only_grant('execute', 'function paidonce.lock_set_of(text[], text[], text[], text[])', variadic '{}');

-- file: functions/order/is_final.sql
-- Purpose:   say whether an object is in a state that no event leaves.
-- Arguments: event_type; object; status of the object (of an invoice: see paidonce.read_invoice_status).
-- Returns:   true or false.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.is_final(event_type text, object jsonb, status text)
returns boolean
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return coalesce(object -> 'deleted' = 'true', false) or case object ->> 'object'
        when 'subscription' then coalesce(status in ('canceled', 'incomplete_expired'), false)
        when 'invoice' then event_type = 'invoice.deleted' or coalesce(status in ('paid', 'void'), false)
        when 'payment_intent' then coalesce(status in ('succeeded', 'canceled'), false)
        when 'checkout.session' then coalesce(object ->> 'payment_status' in ('paid', 'no_payment_required') and status <> 'open', false)
        when 'refund' then coalesce(status in ('failed', 'canceled'), false)
        else event_type in ('customer.deleted', 'product.deleted', 'price.deleted', 'plan.deleted')
    end;
end
$$;

comment on function paidonce.is_final(text, jsonb, text) is
    'Whether an object is in a state that no event leaves, such as a canceled subscription or a paid invoice.';

revoke all on function paidonce.is_final(text, jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.is_final(text, jsonb, text)', variadic '{}');

-- file: functions/order/keep.sql
-- Purpose:   decide whether an event or what is kept of its object holds. The one place where order is decided:
--            a final state goes before any other; then Stripe's time; within a second the rank (see paidonce.rank_of); within a
--            rank previous_attributes, and at last the event id. Arrival never decides.
-- Arguments: event; kept, the common columns of the object's row, all null when there is none.
-- Returns:   the common columns of the row that must now be: whose statement holds, and that statement. Of the event itself
--            exactly when source_event is its id.
-- Raises:    what paidonce.request_refetch raises, where nothing but the event id told rivals apart and Stripe is asked.
-- Locks:     nothing, or the new outbox row.
create or replace function paidonce.keep(event jsonb, kept paidonce.objects)
returns paidonce.objects
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_object    constant pg_catalog.jsonb := event #> '{data,object}';
    v_type      constant pg_catalog.text := event ->> 'type';
    v_id        constant pg_catalog.text := event ->> 'id';
    v_as_of     constant pg_catalog.timestamptz := coalesce(paidonce.read_time(event -> 'created'), '-infinity');
    v_status    constant pg_catalog.text := case v_object ->> 'object'
        when 'invoice' then paidonce.read_invoice_status(v_object) else v_object ->> 'status'
    end;
    v_rank      constant bigint := paidonce.rank_of(v_type, v_object, v_status);
    v_final     constant boolean := paidonce.is_final(v_type, v_object, v_status);
    v_winner    pg_catalog.jsonb;
    v_rivals    pg_catalog.text[] := coalesce(kept.rivals, '{}');
    v_latest    pg_catalog.text;
    v_undecided boolean := false;
begin
    if v_type = 'snapshot' -- paidonce.apply_snapshot has made sure that nothing newer is kept
        or kept.as_of_rank is null
        or (v_final, v_as_of, v_rank) > (kept.is_final, coalesce(kept.as_of, '-infinity'), kept.as_of_rank) then
        v_winner := event;
        v_rivals := '{}';
    elsif v_id = kept.source_event then
        v_winner := event; -- a forced replay projects it again
    elsif kept.source_event is not null
        and (v_final, v_as_of, v_rank) = (kept.is_final, coalesce(kept.as_of, '-infinity'), kept.as_of_rank) then
        v_rivals := array(select distinct r.id from unnest(v_rivals || kept.source_event || v_id) as r (id) order by 1);
        select l.event_id, l.undecided into v_latest, v_undecided from paidonce.latest_of(v_rivals) as l;
        if v_latest <> kept.source_event then
            select e.payload into v_winner from paidonce.events as e where e.event_id = v_latest;
        end if;
    end if;

    -- A refetch of the same second may or may not have seen what this event tells.
    if v_winner is null and kept.source_event is null and v_as_of >= date_trunc('second', kept.as_of) then
        v_undecided := true;
    end if;
    if v_undecided then
        perform paidonce.request_refetch(event, v_object ->> 'object', paidonce.read_object_id(v_object));
    end if;

    if v_winner is not null then
        kept.as_of := paidonce.read_time(v_winner -> 'created');
        kept.as_of_rank := v_rank;
        kept.is_final := v_final;
        kept.livemode := case v_winner -> 'livemode' when 'true' then true when 'false' then false else kept.livemode end;
        kept.account := v_winner ->> 'account';
        kept.source_event := v_winner ->> 'id';
        kept.data := v_winner #> '{data,object}';
    end if;
    kept.rivals := v_rivals;
    kept.generation := coalesce(kept.generation, 0) + 1;
    return kept;
end
$$;

comment on function paidonce.keep(jsonb, paidonce.objects) is
    'Decides whether an event or what is kept of its object holds; the one place where order is decided.';

revoke all on function paidonce.keep(jsonb, paidonce.objects) from public;
call paidonce.only_grant('execute', 'function paidonce.keep(jsonb, paidonce.objects)', variadic '{}');

-- file: functions/order/latest_of.sql
-- Purpose:   tell apart events of one object that have the same second and rank. An event is followed by another whose
--            previous_attributes are what the first one states; the latest is the one that nothing follows.
-- Arguments: event_ids, of stored events.
-- Returns:   event_id of the latest; undecided, when the chain does not single one out and the greatest id decided.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.latest_of(event_ids text[], out event_id text, out undecided boolean)
returns record
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
    with rival as materialized (
        select e.event_id as id, e.payload #> '{data,object}' as stated, e.payload #> '{data,previous_attributes}' as previous
        from paidonce.events as e
        where e.event_id = any (event_ids)
    ),
    follows as (
        select a.id as earlier, b.id as later
        from rival as a
        join rival as b on b.id <> a.id and jsonb_typeof(b.previous) = 'object' and b.previous <> '{}' and a.stated @> b.previous
    ),
    last as (
        -- Two that follow each other (there and back within a second) say nothing.
        select r.id
        from rival as r
        where not exists (
            select from follows as f
            where f.earlier = r.id
                and not exists (select from follows as g where g.earlier = f.later and g.later = f.earlier)
        )
    )
    select coalesce((select max(l.id) from last as l), max(r.id)), (select count(*) from last) <> 1
    into latest_of.event_id, latest_of.undecided
    from rival as r;
end
$$;

comment on function paidonce.latest_of(text[]) is
    'Which of several events of one object, of the same second and rank, is the latest, by their previous_attributes.';

revoke all on function paidonce.latest_of(text[]) from public;
call paidonce.only_grant('execute', 'function paidonce.latest_of(text[])', variadic '{}');

-- file: functions/order/rank_of.sql
-- Purpose:   rank the statements of one second by what they are evidence of: deleted outranks a change, a change outranks created,
--            created outranks a notice; within that the state further along its way outranks the one before it.
-- Arguments: event_type; object; status of the object (of an invoice: see paidonce.read_invoice_status).
-- Returns:   a number to compare within one second; 9 * 10^15 is a refetch.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.rank_of(event_type text, object jsonb, status text)
returns bigint
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    if event_type = 'snapshot' then
        return 9000000000000000;
    end if;
    return case
            when event_type like '%.trial_will_end' or event_type like '%.expiring' or event_type like '%.upcoming' then 0
            when event_type like '%.created' then 1
            when event_type like '%.deleted' then 3
            else 2
        end * 1000000000000000
        + case object ->> 'object'
            -- A recurring price is told twice, once as the plan it would have been.
            when 'price' then 1
            when 'subscription' then case when status = 'incomplete' then 0 else 1 end
            when 'invoice' then coalesce(array_position('{draft,open,uncollectible,paid,void}', status), 0)
            when 'checkout.session' then case
                when object ->> 'payment_status' in ('paid', 'no_payment_required') then 3
                else coalesce(array_position('{open,complete,expired}', status), 0)
            end
            when 'payment_intent' then coalesce(array_position(
                '{requires_payment_method,requires_confirmation,requires_action,processing,requires_capture,canceled,succeeded}', status), 0)
            -- Money only ever goes back further: of two statements the one that says more of it is the later.
            when 'charge' then least(coalesce(paidonce.read_integer(object -> 'amount_refunded'), 0), 99999999999999) * 4
                + coalesce(array_position('{pending,failed,succeeded}', status), 0)
            when 'refund' then coalesce(array_position('{pending,requires_action,succeeded,failed,canceled}', status), 0)
            when 'dispute' then case
                when status in ('won', 'lost', 'warning_closed') then 2
                when status in ('under_review', 'warning_under_review') then 1
                else 0
            end
            else 0
        end;
end
$$;

comment on function paidonce.rank_of(text, jsonb, text) is
    'Rank of a statement among those of the same second: by the kind of event, then by how far the state is along its way.';

revoke all on function paidonce.rank_of(text, jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.rank_of(text, jsonb, text)', variadic '{}');

-- file: functions/outbox/claim_outbox.sql
-- Purpose:   hand out due rows to a worker, each under a lease and a fencing token of its own. A row whose lease ran out is handed
--            out again. Commit at once and send outside any transaction.
-- Arguments: max_rows, at most so many rows; lease, how long the worker has them; actions, only these (exact, or a family such as email.*)
--            and not those that have a ! in front, or null for all.
-- Returns:   the rows that were due first, in no particular order. attempts counts this attempt.
-- Raises:    22023 when an argument is out of range.
-- Locks:     the rows handed out; rows that others have locked are passed over.
--
-- Rows of other actions are never looked at: the index leads from one pending action to the next, and from each that is asked for to its
-- rows that are due. The settings keep a plan that was made for an empty table from reading a full one.
create or replace function paidonce.claim_outbox(max_rows integer, lease interval, actions text[] default null)
returns table (
    id bigint, event_id text, action text, payload jsonb, idempotency_key text, attempts integer, lease_token bigint,
    first_attempt_at timestamptz, created_at timestamptz
)
language plpgsql
volatile
security definer
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_now   constant pg_catalog.timestamptz := clock_timestamp(); -- once, so that an index can be asked for it
    v_only  constant pg_catalog.text[] := array(select a.name from unnest(coalesce(actions, '{*}')) as a (name) where not starts_with(a.name, '!'));
    v_not   constant pg_catalog.text[] := array(select substr(a.name, 2) from unnest(actions) as a (name) where starts_with(a.name, '!'));
    v_names pg_catalog.text[]; -- actions that may be handed out
    v_first pg_catalog.text[]; -- those that have rows among the ones due first
    v_parts pg_catalog.int4[]; -- and how many
    v_full  boolean := false;  -- there are more than these
    v_ids   pg_catalog.int8[] := array[]::pg_catalog.int8[];
begin
    if coalesce(max_rows, 0) not between 1 and 10000 or coalesce(lease, '0') <= '0' or lease > '1 day' then
        raise exception 'claim_outbox needs 1 to 10000 rows and a lease of at most a day' using errcode = 'invalid_parameter_value';
    end if;

    with recursive pending (prefix, name) as (
        select f.prefix, (
            select o.action from paidonce.outbox as o
            where o.status = 'pending' and o.action collate "C" >= f.prefix
            order by o.action collate "C" limit 1)
        from (select rtrim(a.name, '*') as prefix from unnest(v_only) as a (name) where a.name like '%*') as f
        union all
        select p.prefix, (
            select o.action from paidonce.outbox as o
            where o.status = 'pending' and o.action collate "C" > p.name
            order by o.action collate "C" limit 1)
        from pending as p
        where starts_with(p.name, p.prefix)
    )
    select array_agg(n.name) into v_names
    from (
        select p.name from pending as p where starts_with(p.name, p.prefix)
        union
        select a.name from unnest(v_only) as a (name) where a.name not like '%*'
    ) as n
    where not exists (
        select from unnest(v_not) as a (name)
        where n.name = a.name or (a.name like '%*' and starts_with(n.name, rtrim(a.name, '*'))));

    if cardinality(v_names) = 1 then
        v_first := v_names;
        v_parts := array[max_rows];
    else
        select array_agg(f.name), array_agg(f.part), sum(f.part) = max_rows into v_first, v_parts, v_full
        from (
            select d.name, count(*)::pg_catalog.int4 as part
            from (
                select n.name, r.id
                from unnest(v_names) as n (name)
                cross join lateral (
                    select o.next_attempt_at, o.id
                    from paidonce.outbox as o
                    where o.status = 'pending' and o.action collate "C" = n.name and o.next_attempt_at <= v_now
                        and (o.lease_until is null or o.lease_until <= v_now)
                    order by o.next_attempt_at, o.id
                    limit max_rows
                ) as r
                order by r.next_attempt_at, r.id
                limit max_rows
            ) as d
            group by d.name
        ) as f;
    end if;

    -- Arrays, so that no plan can lock more rows than the limit, or read the table to join them.
    for i in 1 .. coalesce(cardinality(v_first), 0) loop
        v_ids := v_ids || array(
            select o.id
            from paidonce.outbox as o
            where o.status = 'pending' and o.action collate "C" = v_first[i] and o.next_attempt_at <= v_now
                and (o.lease_until is null or o.lease_until <= v_now)
            order by o.next_attempt_at, o.id
            limit v_parts[i]
            for update skip locked
        );
    end loop;
    if v_full and cardinality(v_ids) < max_rows then
        -- Somebody has locked some of them: others in their place, so that they hold nothing up.
        for i in 1 .. cardinality(v_names) loop
            v_ids := v_ids || array(
                select o.id
                from paidonce.outbox as o
                where o.status = 'pending' and o.action collate "C" = v_names[i] and o.next_attempt_at <= v_now
                    and (o.lease_until is null or o.lease_until <= v_now) and o.id <> all (v_ids)
                order by o.next_attempt_at, o.id
                limit max_rows - cardinality(v_ids)
                for update skip locked
            );
        end loop;
    end if;
    if v_ids = '{}' then
        return;
    end if;

    return query
    update paidonce.outbox as o
    set lease_until = clock_timestamp() + lease,
        lease_token = coalesce(o.lease_token, 0) + 1,
        attempts = o.attempts + 1,
        first_attempt_at = coalesce(o.first_attempt_at, clock_timestamp())
    where o.id = any (v_ids)
    returning o.id, o.event_id, o.action, o.payload, o.idempotency_key, o.attempts, o.lease_token, o.first_attempt_at, o.created_at;
end
$$;

comment on function paidonce.claim_outbox(integer, interval, text[]) is
    'Hands out due outbox rows to a worker, under a lease and a fencing token.';

revoke all on function paidonce.claim_outbox(integer, interval, text[]) from public;
call paidonce.only_grant('execute', 'function paidonce.claim_outbox(integer, interval, text[])', 'paidonce_worker');

-- file: functions/outbox/enqueue.sql
-- Purpose:   ask for an outside action (an e-mail, a call) as part of an event's effect. The row commits with
--            the effect or not at all, and a worker sends it afterwards.
-- Arguments: event; action, such as email.welcome; payload, fixed from here on; discriminator, where one
--            event asks for the same action more than once.
-- Returns:   nothing. The key is <event_id>:<action>[:<discriminator>]; a key already there is left as it is.
-- Raises:    22023 when an argument is missing; 23514 when the action or the key is not well formed.
-- Locks:     the new row.
create or replace function paidonce.enqueue(event jsonb, action text, payload jsonb, discriminator text default null)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    if event ->> 'id' is null then
        raise exception 'enqueue needs the event as the effect was given it'
            using errcode = 'invalid_parameter_value';
    end if;
    perform paidonce.enqueue_once(
        concat_ws(':', event ->> 'id', action, discriminator), event, action, payload
    );
end
$$;

comment on function paidonce.enqueue(jsonb, text, jsonb, text) is
    'Asks for an outside action in the transaction of an effect, once per event, action and discriminator.';

revoke all on function paidonce.enqueue(jsonb, text, jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.enqueue(jsonb, text, jsonb, text)', variadic '{}');

-- file: functions/outbox/enqueue_once.sql
-- Purpose:   like paidonce.enqueue, under a business key of your own: for one action that several events of
--            one fact would each ask for, such as receipt:in_123.
-- Arguments: idempotency_key, at most 255 characters; event, the cause, or null; action; payload.
-- Returns:   nothing. A key already there is left as it is.
-- Raises:    22023 when an argument is missing; 23514 when the action or the key is not well formed.
-- Locks:     the new row.
create or replace function paidonce.enqueue_once(idempotency_key text, event jsonb, action text, payload jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    if idempotency_key is null or action is null or payload is null then
        raise exception 'an outbox row needs a key, an action and a payload; got key %, action %, payload %',
            coalesce(idempotency_key, 'null'), coalesce(action, 'null'), case when payload is null then 'null' else 'given' end
            using errcode = 'invalid_parameter_value';
    end if;
    insert into paidonce.outbox as o (event_id, action, payload, idempotency_key)
    values (event ->> 'id', enqueue_once.action, enqueue_once.payload, enqueue_once.idempotency_key)
    on conflict on constraint outbox_one_row_per_key do nothing;
    if found then
        perform paidonce.notify_outbox();
    end if;
end
$$;

comment on function paidonce.enqueue_once(text, jsonb, text, jsonb) is
    'Asks for an outside action in the transaction of an effect, once per business key.';

revoke all on function paidonce.enqueue_once(text, jsonb, text, jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.enqueue_once(text, jsonb, text, jsonb)', variadic '{}');

-- file: functions/outbox/notify_outbox.sql
-- Purpose:   wake workers up when this transaction commits, as far as the setting notify asks for it. A transaction that notifies takes a
--            lock of the whole server at its commit; gated lets one at a time do so, and polling finds what the others left.
-- Arguments: none.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     gated: an advisory lock of the transaction, only if it is free.
create or replace function paidonce.notify_outbox()
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_notify constant pg_catalog.text := (select s.notify from paidonce.settings as s);
begin
    if v_notify = 'always' or (v_notify = 'gated' and pg_try_advisory_xact_lock(hashtextextended('paidonce.notify_outbox', 0))) then
        perform pg_notify('paidonce_outbox', '');
    end if;
end
$$;

comment on function paidonce.notify_outbox() is
    'Wakes outbox workers up at the commit, as far as the setting notify asks for it.';

revoke all on function paidonce.notify_outbox() from public;
call paidonce.only_grant('execute', 'function paidonce.notify_outbox()', variadic '{}');

-- file: functions/outbox/outbox_backlog.sql
-- Purpose:   what waits in the outbox, for gauges: it is counted, so ask every few seconds and not more often.
-- Arguments: none.
-- Returns:   one row: pending, all rows not over; due, those that could be sent now; leased, those that a worker has; dead; and for how many
--            seconds the oldest pending row has been there (0 when there is none).
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.outbox_backlog()
returns table (pending bigint, due bigint, leased bigint, dead bigint, oldest_seconds double precision)
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
    return query
    select count(*),
        count(*) filter (where o.next_attempt_at <= clock_timestamp() and coalesce(o.lease_until <= clock_timestamp(), true)),
        count(*) filter (where o.lease_until > clock_timestamp()),
        (select count(*) from paidonce.outbox as d where d.status = 'dead'),
        coalesce(extract(epoch from clock_timestamp() - min(o.created_at)), 0)::pg_catalog.float8
    from paidonce.outbox as o
    where o.status = 'pending';
end
$$;

comment on function paidonce.outbox_backlog() is
    'Counts what waits in the outbox and says how old the oldest of it is.';

revoke all on function paidonce.outbox_backlog() from public;
call paidonce.only_grant('execute', 'function paidonce.outbox_backlog()', 'paidonce_worker');

-- file: functions/outbox/prune_outbox.sql
-- Purpose:   forget rows that are over: sent or dead for longer than an age.
-- Arguments: older_than; max_rows, to keep each transaction short.
-- Returns:   how many rows were deleted.
-- Raises:    nothing.
-- Locks:     the rows deleted.
create or replace function paidonce.prune_outbox(older_than interval, max_rows integer default 10000)
returns bigint
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_deleted bigint;
begin
    with over as materialized (
        select o.id
        from paidonce.outbox as o
        where o.status in ('sent', 'dead') and coalesce(o.sent_at, o.first_attempt_at, o.created_at) < clock_timestamp() - older_than
        limit max_rows
        for update skip locked
    )
    delete from paidonce.outbox as o using over where o.id = over.id;
    get diagnostics v_deleted = row_count;
    return v_deleted;
end
$$;

comment on function paidonce.prune_outbox(interval, integer) is
    'Deletes outbox rows that were sent or dead for longer than an age. Owner only.';

revoke all on function paidonce.prune_outbox(interval, integer) from public;
call paidonce.only_grant('execute', 'function paidonce.prune_outbox(interval, integer)', variadic '{}');

-- file: functions/outbox/request_refetch.sql
-- Purpose:   ask a worker to fetch Stripe's current state of an object, since an event is only provisional.
-- Arguments: event, the cause (its account is asked); object_type, such as subscription; object_id.
-- Returns:   nothing. At most one request per object is pending; a further one joins it. One that a worker has already may
--            have been answered before the cause came, so the worker loses it and it is due again.
-- Raises:    nothing.
-- Locks:     the new row, or the one taken away from a worker. Where one event asks for several that others may ask for, it does so in the order
--            of their ids.
create or replace function paidonce.request_refetch(event jsonb, object_type text, object_id text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    -- The two kinds of lists have another object's id: they are not to be taken for that object.
    v_name   constant pg_catalog.text := concat_ws(
        ':', case when object_type in ('entitlements.active_entitlement_summary', 'invoice_payment_list') then object_type end, object_id
    );
    v_key    constant pg_catalog.text := concat_ws(':', 'refetch', event ->> 'account', v_name);
    v_leased boolean;
begin
    if object_id is null then
        return;
    end if;
    select o.lease_until is not null into v_leased from paidonce.outbox as o where o.coalesce_key = v_key and o.status = 'pending';
    if v_leased then
        update paidonce.outbox as o
        set lease_until = null, lease_token = o.lease_token + 1, next_attempt_at = clock_timestamp(), attempts = o.attempts - 1
        where o.coalesce_key = v_key and o.status = 'pending' and o.lease_until is not null;
        if found then
            return;
        end if;
    elsif not v_leased then
        -- Who takes the request up after this reads the object's generation first, and its answer waits for the locks of this event: either it
        -- was asked after the event, or paidonce.apply_snapshot finds that the generation moved and asks again.
        return;
    end if;
    -- No conflict target: a twin may have asked meanwhile, and a forced replay has the same key.
    insert into paidonce.outbox as o (event_id, action, payload, idempotency_key, coalesce_key)
    values (
        event ->> 'id',
        'stripe.refetch',
        jsonb_strip_nulls(jsonb_build_object('object', object_type, 'id', object_id, 'account', event ->> 'account')),
        concat_ws(':', coalesce(event ->> 'id', gen_random_uuid()::pg_catalog.text), 'stripe.refetch',
            case when length(v_name) > 100 then md5(v_name) else v_name end),
        v_key
    )
    on conflict do nothing;
    perform paidonce.notify_outbox();
end
$$;

comment on function paidonce.request_refetch(jsonb, text, text) is
    'Asks a worker to fetch an object''s current state from Stripe; at most one request per object is pending.';

revoke all on function paidonce.request_refetch(jsonb, text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.request_refetch(jsonb, text, text)', variadic '{}');

-- file: functions/outbox/requeue_outbox.sql
-- Purpose:   give a row another life: pending again, with fresh attempts, at once, under the same key and with the same payload.
-- Arguments: id; force, to send again what was sent already.
-- Returns:   true when it is pending now.
-- Raises:    P0002 when there is no such row; 55000 when it was sent and force is not given, or a worker has it at this moment.
-- Locks:     the row.
create or replace function paidonce.requeue_outbox(id bigint, force boolean default false)
returns boolean
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_row pg_catalog.record;
begin
    select o.status, o.lease_until into v_row from paidonce.outbox as o where o.id = requeue_outbox.id for update;
    if not found then
        raise exception 'there is no outbox row %', id using errcode = 'no_data_found';
    end if;
    if v_row.status = 'sent' and not coalesce(force, false) then
        raise exception 'outbox row % was sent', id
            using errcode = 'object_not_in_prerequisite_state', hint = 'Force it to send it once more, under the same key.';
    end if;
    if v_row.lease_until > clock_timestamp() then
        raise exception 'a worker has outbox row % until %', id, v_row.lease_until using errcode = 'object_not_in_prerequisite_state';
    end if;

    update paidonce.outbox as o
    set status = 'pending', sent_at = null, attempts = 0, first_attempt_at = null, lease_until = null,
        next_attempt_at = clock_timestamp(), error = null
    where o.id = requeue_outbox.id;
    perform paidonce.notify_outbox();
    return true;
exception
    when unique_violation then
        return false; -- the same refetch is pending already
end
$$;

comment on function paidonce.requeue_outbox(bigint, boolean) is
    'Makes an outbox row pending again, with fresh attempts under the same key. A sent one only by force.';

revoke all on function paidonce.requeue_outbox(bigint, boolean) from public;
call paidonce.only_grant('execute', 'function paidonce.requeue_outbox(bigint, boolean)', variadic '{}');

-- file: functions/outbox/settle_outbox.sql
-- Purpose:   write down what became of rows that a worker had. A worker whose lease was taken over changes nothing.
-- Arguments: results, a JSON array of {id, lease_token, outcome, response, error, retry_after}: outcome is sent, retry (after retry_after seconds),
--            dead, or release (given back untried: the attempt does not count).
-- Returns:   ids of the rows that were settled; the others belong to another worker by now.
-- Raises:    22023 when an outcome is unknown.
-- Locks:     the rows, in the order of their ids. A request for a refetch that an event has locked is passed over: the event takes it away from the worker (see paidonce.request_refetch).
create or replace function paidonce.settle_outbox(results jsonb)
returns setof bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    if exists (
        select from jsonb_array_elements(results) as r (result)
        where r.result ->> 'outcome' is null or r.result ->> 'outcome' not in ('sent', 'retry', 'dead', 'release')
    ) then
        raise exception 'an outcome is sent, retry, dead or release' using errcode = 'invalid_parameter_value';
    end if;

    return query
    with told as (
        select r.*
        from jsonb_to_recordset(results)
            as r (id bigint, lease_token bigint, outcome pg_catalog.text, response pg_catalog.jsonb, error pg_catalog.text, retry_after double precision)
    ),
    own as materialized (
        select o.id, r.outcome, r.response, r.error, r.retry_after
        from told as r
        join paidonce.outbox as o on o.id = r.id and o.lease_token = r.lease_token and o.lease_until is not null and o.status = 'pending'
        where o.coalesce_key is null
        order by o.id
        for update of o
    ),
    asked_for as materialized (
        -- What an event has locked it takes away from the worker; waited for, it could close a circle of waits.
        select o.id, r.outcome, r.response, r.error, r.retry_after
        from told as r
        join paidonce.outbox as o on o.id = r.id and o.lease_token = r.lease_token and o.lease_until is not null and o.status = 'pending'
        where o.coalesce_key is not null
        order by o.id
        for update of o skip locked
    ),
    settled as (
        select * from own union all select * from asked_for
    )
    update paidonce.outbox as o
    set status = case s.outcome when 'sent' then 'sent' when 'dead' then 'dead' else 'pending' end,
        sent_at = case s.outcome when 'sent' then clock_timestamp() end,
        lease_until = null,
        attempts = o.attempts - case s.outcome when 'release' then 1 else 0 end,
        first_attempt_at = case when s.outcome = 'release' and o.attempts = 1 then null else o.first_attempt_at end,
        next_attempt_at = case s.outcome
            when 'retry' then clock_timestamp() + least(greatest(coalesce(s.retry_after, 0), 0), 2592000) * interval '1 second'
            else o.next_attempt_at
        end,
        response = coalesce(s.response, o.response),
        error = case s.outcome when 'sent' then null when 'release' then o.error else s.error end
    from settled as s
    where o.id = s.id
    returning o.id;
end
$$;

comment on function paidonce.settle_outbox(jsonb) is
    'Writes down what became of outbox rows that a worker had: sent, retry, dead or release.';

revoke all on function paidonce.settle_outbox(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.settle_outbox(jsonb)', 'paidonce_worker');

-- file: functions/project/project_checkout_session.sql
-- Purpose:   keep a checkout session as last stated, link its customer to the user who checked out (client_reference_id, else
--            metadata), and grant what a paid session without an invoice bought.
-- Arguments: event, any of checkout.session.*.
-- Returns:   nothing.
-- Raises:    PO404 when it grants credits to a customer that has no user yet (see paidonce.settle_purchase).
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_checkout_session(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id   constant pg_catalog.text := paidonce.read_object_id(event #> '{data,object}');
    v_kept paidonce.objects;
    v_now  paidonce.objects;
    v_read pg_catalog.record;
    v_key  constant pg_catalog.text := (select s.user_id_metadata_key from paidonce.settings as s);
begin
    if v_id is null then
        return;
    end if;
    v_kept := (select o::paidonce.objects from paidonce.checkout_sessions as o where o.session_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_checkout_session(v_now.data, v_key);

    insert into paidonce.checkout_sessions as o (
        session_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        customer_id, user_id, mode, status, payment_status, invoice_id, amount_total, currency, credits, created
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.customer_id, v_read.user_id, v_read.mode, v_read.status, v_read.payment_status, v_read.invoice_id,
        v_read.amount_total, v_read.currency, v_read.credits, v_read.created
    )
    on conflict (session_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        customer_id = excluded.customer_id, user_id = excluded.user_id, mode = excluded.mode, status = excluded.status,
        payment_status = excluded.payment_status, invoice_id = excluded.invoice_id, amount_total = excluded.amount_total,
        currency = excluded.currency, credits = excluded.credits, created = excluded.created;

    if v_now.source_event is distinct from event ->> 'id' then
        v_read := paidonce.read_checkout_session(event #> '{data,object}', v_key); -- what it names counts, though its statement does not hold
    end if;
    -- Joined first: the link may run parked events of this purchase.
    perform paidonce.join_purchase(v_read.customer_id, v_id, v_read.invoice_id, paidonce.read_payment_ids(event #> '{data,object}'));
    perform paidonce.link(v_read.customer_id, v_read.user_id, event ->> 'id');
    perform paidonce.settle_purchase(v_id, event);
end
$$;

comment on function paidonce.project_checkout_session(jsonb) is
    'Keeps a checkout session as last stated, links its customer to the user who checked out, and grants what it bought.';

revoke all on function paidonce.project_checkout_session(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_checkout_session(jsonb)', variadic '{}');

-- file: functions/project/project_customer.sql
-- Purpose:   keep a customer as last stated. Deleted is final.
-- Arguments: event, customer.created, updated or deleted.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_customer(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id   constant pg_catalog.text := paidonce.read_object_id(event #> '{data,object}');
    v_kept paidonce.objects;
    v_now  paidonce.objects;
    v_read pg_catalog.record;
begin
    if v_id is null then
        return;
    end if;
    v_kept := (select o::paidonce.objects from paidonce.customers as o where o.customer_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_customer(v_now.data);

    insert into paidonce.customers as o (
        customer_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        deleted, email, name
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_now.is_final, v_read.email, v_read.name
    )
    on conflict (customer_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        deleted = excluded.deleted, email = excluded.email, name = excluded.name;

    if event #> '{data,object,metadata}' <> '{}' then
        perform paidonce.link_from_metadata(event, event #> '{data,object}', v_id);
    end if;
end
$$;

comment on function paidonce.project_customer(jsonb) is
    'Keeps a customer as last stated.';

revoke all on function paidonce.project_customer(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_customer(jsonb)', variadic '{}');

-- file: functions/project/project_dispute.sql
-- Purpose:   keep a dispute as last stated, and take back from its purchase what that now implies. A dispute that comes before its
--            payment is remembered and netted when the payment arrives.
-- Arguments: event, any of charge.dispute.*.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_dispute(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id   constant pg_catalog.text := paidonce.read_object_id(event #> '{data,object}');
    v_kept paidonce.objects;
    v_now  paidonce.objects;
    v_read pg_catalog.record;
begin
    if v_id is null then
        return;
    end if;
    v_kept := (select o::paidonce.objects from paidonce.disputes as o where o.dispute_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_dispute(v_now.data);

    insert into paidonce.disputes as o (
        dispute_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        charge_id, payment_intent_id, amount, currency, status, created, reason
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.charge_id, v_read.payment_intent_id, v_read.amount, v_read.currency, v_read.status, v_read.created, v_read.reason
    )
    on conflict (dispute_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        charge_id = excluded.charge_id, payment_intent_id = excluded.payment_intent_id, amount = excluded.amount,
        currency = excluded.currency, status = excluded.status, created = excluded.created, reason = excluded.reason;

    if v_now.source_event is distinct from event ->> 'id' then
        v_read := paidonce.read_dispute(event #> '{data,object}'); -- what it names counts, though its statement does not hold
    end if;
    perform paidonce.join_purchase(null, null, null, v_read.payment_ids);
    perform paidonce.settle_purchase(v_read.payment_ids[1], event);
    perform paidonce.request_purchase_link(event, v_read.payment_ids[1]);
end
$$;

comment on function paidonce.project_dispute(jsonb) is
    'Keeps a dispute as last stated, and takes back or gives again what that now implies.';

revoke all on function paidonce.project_dispute(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_dispute(jsonb)', variadic '{}');

-- file: functions/project/project_entitlement_summary.sql
-- Purpose:   keep what Stripe says a customer is entitled to. An event carries the first ten only; the refetch brings the rest.
-- Arguments: event, entitlements.active_entitlement_summary.updated.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_entitlement_summary(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id   constant pg_catalog.text := paidonce.read_customer_id(event #> '{data,object}');
    v_kept paidonce.objects;
    v_now  paidonce.objects;
    v_read pg_catalog.record;
begin
    if v_id is null then
        return;
    end if;
    v_kept := (select o::paidonce.objects from paidonce.entitlement_summaries as o where o.customer_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_entitlement_summary(v_now.data);

    insert into paidonce.entitlement_summaries as o (
        customer_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        features, complete
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.features, v_read.complete
    )
    on conflict (customer_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        features = excluded.features, complete = excluded.complete;

    if event ->> 'type' <> 'snapshot' then
        perform paidonce.request_refetch(event, 'entitlements.active_entitlement_summary', v_id);
    end if;
end
$$;

comment on function paidonce.project_entitlement_summary(jsonb) is
    'Keeps what Stripe says a customer is entitled to.';

revoke all on function paidonce.project_entitlement_summary(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_entitlement_summary(jsonb)', variadic '{}');

-- file: functions/project/project_event.sql
-- Purpose:   apply the built-in effects of an event, or of a snapshot: keep the facts it states. Both go through the same projections.
-- Arguments: event.
-- Returns:   nothing.
-- Raises:    what the projection raises: PO404 when the event has to wait for its customer's user.
-- Locks:     the object's row.
create or replace function paidonce.project_event(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_projection constant pg_catalog.text := case event ->> 'type'
        when 'snapshot' then paidonce.projection_of(null, event #>> '{data,object,object}')
        else paidonce.projection_of(event ->> 'type')
    end;
begin
    if v_projection is not null then
        execute format('select paidonce.project_%s($1)', v_projection) using event;
    end if;
end
$$;

comment on function paidonce.project_event(jsonb) is
    'Applies the built-in effects of an event.';

revoke all on function paidonce.project_event(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_event(jsonb)', variadic '{}');

-- file: functions/project/project_invoice.sql
-- Purpose:   keep an invoice and its lines as last stated, note how it was paid, and grant what a paid one bought.
-- Arguments: event, any of invoice.* but invoice.upcoming.
-- Returns:   nothing.
-- Raises:    PO404 when it grants credits to a customer that has no user yet (see paidonce.settle_purchase).
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_invoice(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id   constant pg_catalog.text := paidonce.read_object_id(event #> '{data,object}');
    v_kept paidonce.objects;
    v_now  paidonce.objects;
    v_read pg_catalog.record;
begin
    if v_id is null then
        return;
    end if;
    v_kept := (select o::paidonce.objects from paidonce.invoices as o where o.invoice_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_invoice(v_now.data);

    insert into paidonce.invoices as o (
        invoice_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        customer_id, subscription_id, status, billing_reason, subtotal, total, amount_due, amount_paid, currency, period_start,
        period_end, created
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.customer_id, v_read.subscription_id, v_read.status, v_read.billing_reason, v_read.subtotal, v_read.total,
        v_read.amount_due, v_read.amount_paid, v_read.currency, v_read.period_start, v_read.period_end, v_read.created
    )
    on conflict (invoice_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        customer_id = excluded.customer_id, subscription_id = excluded.subscription_id, status = excluded.status,
        billing_reason = excluded.billing_reason, subtotal = excluded.subtotal, total = excluded.total,
        amount_due = excluded.amount_due, amount_paid = excluded.amount_paid, currency = excluded.currency,
        period_start = excluded.period_start, period_end = excluded.period_end, created = excluded.created;

    if v_kept.data -> 'lines' is distinct from v_now.data -> 'lines' then
        perform paidonce.replace_invoice_lines(v_id, v_now.data);
    end if;
    if event ->> 'type' <> 'snapshot' and event #> '{data,object,lines,has_more}' = 'true' then
        perform paidonce.request_refetch(event, 'invoice', v_id);
    end if;

    if v_now.source_event is distinct from event ->> 'id' then
        v_read := paidonce.read_invoice(event #> '{data,object}'); -- what it names counts, though its statement does not hold
    end if;
    perform paidonce.join_purchase(v_read.customer_id, null, v_id, v_read.payment_ids);
    perform paidonce.settle_purchase(v_id, event);
end
$$;

comment on function paidonce.project_invoice(jsonb) is
    'Keeps an invoice and its lines as last stated, and grants what a paid one bought.';

revoke all on function paidonce.project_invoice(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_invoice(jsonb)', variadic '{}');

-- file: functions/project/project_invoice_payment.sql
-- Purpose:   note which payment paid an invoice: since API 2025-03-31 only the invoice payment says it.
-- Arguments: event, any of invoice_payment.*.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the purchase's rows.
create or replace function paidonce.project_invoice_payment(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_read constant pg_catalog.record := paidonce.read_invoice_payment(event #> '{data,object}');
begin
    if v_read.invoice_id is null or v_read.status = 'canceled' then
        return;
    end if;
    perform paidonce.join_purchase(null, null, v_read.invoice_id, v_read.payment_ids);
    perform paidonce.settle_purchase(v_read.invoice_id, event);
    if event ->> 'type' <> 'snapshot' and not exists (select from paidonce.invoices as n where n.invoice_id = v_read.invoice_id) then
        perform paidonce.request_refetch(event, 'invoice', v_read.invoice_id);
    end if;
end
$$;

comment on function paidonce.project_invoice_payment(jsonb) is
    'Notes which payment paid an invoice.';

revoke all on function paidonce.project_invoice_payment(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_invoice_payment(jsonb)', variadic '{}');

-- file: functions/project/project_invoice_payment_list.sql
-- Purpose:   keep which invoices a payment paid, as Stripe's list of invoice payments says it: it knows now, even if there are none.
-- Arguments: event, a snapshot of {object: invoice_payment_list, id: the payment, data: [invoice payments]}.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the purchase's rows.
create or replace function paidonce.project_invoice_payment_list(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_payment constant pg_catalog.text := event #>> '{data,object,id}';
begin
    perform paidonce.join_purchase(null, null, r.invoice_id, array[v_payment])
    from jsonb_array_elements(event #> '{data,object,data}') as p (payment)
    cross join lateral paidonce.read_invoice_payment(p.payment) as r
    where r.status is distinct from 'canceled';

    update paidonce.purchase_objects as o set link_known = true where o.object_id = v_payment;
    perform paidonce.settle_purchase(v_payment, event);
end
$$;

comment on function paidonce.project_invoice_payment_list(jsonb) is
    'Keeps which invoices a payment paid, as Stripe lists them.';

revoke all on function paidonce.project_invoice_payment_list(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_invoice_payment_list(jsonb)', variadic '{}');

-- file: functions/project/project_payment.sql
-- Purpose:   keep a payment intent or charge as last stated, note what it belongs to, and grant what a payment intent with credits
--            of its own bought.
-- Arguments: event, any of payment_intent.* and charge.* but refunds and disputes.
-- Returns:   nothing.
-- Raises:    PO404 when it grants credits to a customer that has no user yet (see paidonce.settle_purchase).
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_payment(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id   constant pg_catalog.text := paidonce.read_object_id(event #> '{data,object}');
    v_kept paidonce.objects;
    v_now  paidonce.objects;
    v_read pg_catalog.record;
    v_key  constant pg_catalog.text := (select s.user_id_metadata_key from paidonce.settings as s);
begin
    if v_id is null then
        return;
    end if;
    v_kept := (select o::paidonce.objects from paidonce.payments as o where o.payment_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_payment(v_now.data, v_key);

    insert into paidonce.payments as o (
        payment_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        kind, customer_id, status, amount, amount_paid, amount_refunded, currency, user_id, credits, created
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.kind, v_read.customer_id, v_read.status, v_read.amount, v_read.amount_paid, v_read.amount_refunded, v_read.currency,
        v_read.user_id, v_read.credits, v_read.created
    )
    on conflict (payment_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        kind = excluded.kind, customer_id = excluded.customer_id, status = excluded.status, amount = excluded.amount,
        amount_paid = excluded.amount_paid, amount_refunded = excluded.amount_refunded, currency = excluded.currency,
        user_id = excluded.user_id, credits = excluded.credits, created = excluded.created;

    if v_now.source_event is distinct from event ->> 'id' then
        v_read := paidonce.read_payment(event #> '{data,object}', v_key); -- what it names counts, though its statement does not hold
    end if;
    perform paidonce.join_purchase(v_read.customer_id, null, v_read.invoice_id, v_id || v_read.payment_ids);
    if event #> '{data,object}' ? 'invoice' then -- until API 2025-03-31: if it names none, there is none
        update paidonce.purchase_objects as o set link_known = true where o.object_id = v_id and not o.link_known;
    end if;
    perform paidonce.settle_purchase(v_id, event);
    if v_read.amount_refunded > 0 then
        perform paidonce.request_purchase_link(event, v_id);
    end if;
end
$$;

comment on function paidonce.project_payment(jsonb) is
    'Keeps a payment intent or charge as last stated, and grants what a payment intent with credits of its own bought.';

revoke all on function paidonce.project_payment(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_payment(jsonb)', variadic '{}');

-- file: functions/project/project_price.sql
-- Purpose:   keep a price (or plan of an old API version) as last stated, and grant what waited for it.
-- Arguments: event, any of price.* and plan.*.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_price(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id   constant pg_catalog.text := paidonce.read_object_id(event #> '{data,object}');
    v_kept paidonce.objects;
    v_now  paidonce.objects;
    v_read pg_catalog.record;
begin
    if v_id is null then
        return;
    end if;
    v_kept := (select o::paidonce.objects from paidonce.prices as o where o.price_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_price(v_now.data);

    insert into paidonce.prices as o (
        price_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        active, deleted, product_id, lookup_key, unit_amount, currency, recurring_interval, credits
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.active, v_now.is_final, v_read.product_id, v_read.lookup_key, v_read.unit_amount, v_read.currency,
        v_read.recurring_interval, v_read.credits
    )
    on conflict (price_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        active = excluded.active, deleted = excluded.deleted, product_id = excluded.product_id, lookup_key = excluded.lookup_key,
        unit_amount = excluded.unit_amount, currency = excluded.currency, recurring_interval = excluded.recurring_interval,
        credits = excluded.credits;

    -- Whoever settles a purchase by this price holds its id, shared, which this event has had to wait for.
    if exists (select from paidonce.invoice_lines as l where l.price_id = v_id and l.credits is null) then
        perform paidonce.mark_due('price', v_id, event ->> 'id');
    end if;
end
$$;

comment on function paidonce.project_price(jsonb) is
    'Keeps a price as last stated, and grants what waited for it.';

revoke all on function paidonce.project_price(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_price(jsonb)', variadic '{}');

-- file: functions/project/project_product.sql
-- Purpose:   keep a product as last stated, and grant what waited for it.
-- Arguments: event, any of product.*.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_product(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id   constant pg_catalog.text := paidonce.read_object_id(event #> '{data,object}');
    v_kept paidonce.objects;
    v_now  paidonce.objects;
    v_read pg_catalog.record;
begin
    if v_id is null then
        return;
    end if;
    v_kept := (select o::paidonce.objects from paidonce.products as o where o.product_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_product(v_now.data);

    insert into paidonce.products as o (
        product_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        active, deleted, name, features, credits
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.active, v_now.is_final, v_read.name, v_read.features, v_read.credits
    )
    on conflict (product_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        active = excluded.active, deleted = excluded.deleted, name = excluded.name, features = excluded.features,
        credits = excluded.credits;

    -- Whoever settles a purchase by this product holds its id, shared, which this event has had to wait for.
    if exists (select from paidonce.invoice_lines as l where l.credits is null and l.price_id is not null
        and coalesce(l.product_id, (select p.product_id from paidonce.prices as p where p.price_id = l.price_id)) = v_id) then
        perform paidonce.mark_due('product', v_id, event ->> 'id');
    end if;
end
$$;

comment on function paidonce.project_product(jsonb) is
    'Keeps a product as last stated, and grants what waited for it.';

revoke all on function paidonce.project_product(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_product(jsonb)', variadic '{}');

-- file: functions/project/project_refund.sql
-- Purpose:   keep a refund as last stated, and take back from its purchase what that now implies. A refund that comes before its
--            payment is remembered and netted when the payment arrives.
-- Arguments: event, any of charge.refund.* and refund.*.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_refund(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id   constant pg_catalog.text := paidonce.read_object_id(event #> '{data,object}');
    v_kept paidonce.objects;
    v_now  paidonce.objects;
    v_read pg_catalog.record;
begin
    if v_id is null then
        return;
    end if;
    v_kept := (select o::paidonce.objects from paidonce.refunds as o where o.refund_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_refund(v_now.data);

    insert into paidonce.refunds as o (
        refund_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        charge_id, payment_intent_id, amount, currency, status, created
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.charge_id, v_read.payment_intent_id, v_read.amount, v_read.currency, v_read.status, v_read.created
    )
    on conflict (refund_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        charge_id = excluded.charge_id, payment_intent_id = excluded.payment_intent_id, amount = excluded.amount,
        currency = excluded.currency, status = excluded.status, created = excluded.created;

    if v_now.source_event is distinct from event ->> 'id' then
        v_read := paidonce.read_refund(event #> '{data,object}'); -- what it names counts, though its statement does not hold
    end if;
    perform paidonce.join_purchase(null, null, null, v_read.payment_ids);
    perform paidonce.settle_purchase(v_read.payment_ids[1], event);
    if event ->> 'type' <> 'snapshot' and v_read.status in ('failed', 'canceled') then
        -- Its charge may have been stated within the same second, before or after that.
        perform paidonce.request_refetch(event, 'charge', v_read.charge_id);
    end if;
    perform paidonce.request_purchase_link(event, v_read.payment_ids[1]);
end
$$;

comment on function paidonce.project_refund(jsonb) is
    'Keeps a refund as last stated, and takes back what that now implies.';

revoke all on function paidonce.project_refund(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_refund(jsonb)', variadic '{}');

-- file: functions/project/project_subscription.sql
-- Purpose:   keep a subscription and its items as last stated, and ask for a refetch, which has the last word.
--            canceled and incomplete_expired are final: no event leaves them.
-- Arguments: event, any of customer.subscription.*.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the object's row, which paidonce.lock_set has made safe to read.
create or replace function paidonce.project_subscription(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_id   constant pg_catalog.text := paidonce.read_object_id(event #> '{data,object}');
    v_kept paidonce.objects;
    v_now  paidonce.objects;
    v_read pg_catalog.record;
begin
    if v_id is null then
        return;
    end if;
    v_kept := (select o::paidonce.objects from paidonce.subscriptions as o where o.subscription_id = v_id);
    v_now := paidonce.keep(event, v_kept);
    v_read := paidonce.read_subscription(v_now.data);

    insert into paidonce.subscriptions as o (
        subscription_id, as_of, generation, as_of_rank, is_final, livemode, account, source_event, rivals, data,
        customer_id, status, created, current_period_start, current_period_end, trial_end, cancel_at, canceled_at, ended_at,
        pause_behavior
    ) values (
        v_id, v_now.as_of, v_now.generation, v_now.as_of_rank, v_now.is_final, v_now.livemode, v_now.account, v_now.source_event,
        v_now.rivals, v_now.data,
        v_read.customer_id, v_read.status, v_read.created, v_read.current_period_start, v_read.current_period_end, v_read.trial_end,
        v_read.cancel_at, v_read.canceled_at, v_read.ended_at, v_read.pause_behavior
    )
    on conflict (subscription_id) do update
    set as_of = excluded.as_of, generation = excluded.generation, as_of_rank = excluded.as_of_rank, is_final = excluded.is_final,
        livemode = excluded.livemode, account = excluded.account, source_event = excluded.source_event, rivals = excluded.rivals,
        data = excluded.data,
        customer_id = excluded.customer_id, status = excluded.status, created = excluded.created,
        current_period_start = excluded.current_period_start, current_period_end = excluded.current_period_end,
        trial_end = excluded.trial_end, cancel_at = excluded.cancel_at, canceled_at = excluded.canceled_at,
        ended_at = excluded.ended_at, pause_behavior = excluded.pause_behavior;

    -- Most changes of a subscription leave its items as they were.
    if v_kept.data -> 'items' is distinct from v_now.data -> 'items' or v_now.data -> 'items' is null then
        perform paidonce.replace_subscription_items(v_id, v_now.data);
    end if;

    if event #> '{data,object,metadata}' <> '{}' then
        perform paidonce.link_from_metadata(event, event #> '{data,object}', paidonce.read_customer_id(event #> '{data,object}'));
    end if;
    if event ->> 'type' <> 'snapshot' then
        perform paidonce.request_refetch(event, 'subscription', v_id);
    end if;
end
$$;

comment on function paidonce.project_subscription(jsonb) is
    'Keeps a subscription and its items as last stated, and asks for a refetch.';

revoke all on function paidonce.project_subscription(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_subscription(jsonb)', variadic '{}');

-- file: functions/project/project_thin_event.sql
-- Purpose:   ask for a refetch of the object that a thin event speaks of: it carries no object itself. Its snapshot twin, where there is
--            one, states the same fact and meets the same row.
-- Arguments: event, a v2.core.event of a v1 resource (Stripe API 2026-09-30 and later).
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the new outbox row.
create or replace function paidonce.project_thin_event(event jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_type constant pg_catalog.text := event #>> '{related_object,type}';
begin
    if paidonce.projection_of(null, v_type) is not null then
        perform paidonce.request_refetch(
            event || jsonb_build_object('account', paidonce.read_account(event)), v_type, event #>> '{related_object,id}'
        );
    end if;
end
$$;

comment on function paidonce.project_thin_event(jsonb) is
    'Asks for a refetch of the object that a thin event speaks of.';

revoke all on function paidonce.project_thin_event(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.project_thin_event(jsonb)', variadic '{}');

-- file: functions/project/projection_of.sql
-- Purpose:   say which built-in projection reads an event type or keeps an object type. The one list of them: what is listed here as x
--            is projected by paidonce.project_x.
-- Arguments: event_type, or object_type as Stripe names it; the other is null.
-- Returns:   the name of the projection, or null when there is none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.projection_of(event_type text, object_type text default null)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case
        when event_type like 'v1.%' then 'thin_event'
        when event_type in ('customer.created', 'customer.updated', 'customer.deleted') or object_type = 'customer' then 'customer'
        when event_type like 'customer.subscription.%' or object_type = 'subscription' then 'subscription'
        when event_type like 'checkout.session.%' or object_type = 'checkout.session' then 'checkout_session'
        when event_type = 'invoice.upcoming' then null -- a preview: there is no such invoice
        when event_type like 'invoice.%' or object_type = 'invoice' then 'invoice'
        when event_type like 'invoice\_payment.%' or object_type = 'invoice_payment' then 'invoice_payment'
        when object_type = 'invoice_payment_list' then 'invoice_payment_list'
        when event_type like 'payment\_intent.%' or object_type in ('payment_intent', 'charge') then 'payment'
        when event_type like 'charge.dispute.%' or object_type = 'dispute' then 'dispute'
        when event_type like 'charge.refund.%' or event_type like 'refund.%' or object_type = 'refund' then 'refund'
        when event_type like 'charge.%' then 'payment'
        when event_type like 'product.%' or object_type = 'product' then 'product'
        when event_type like 'price.%' or event_type like 'plan.%' or object_type in ('price', 'plan') then 'price'
        when event_type = 'entitlements.active_entitlement_summary.updated' or object_type = 'entitlements.active_entitlement_summary' then
            'entitlement_summary'
    end;
end
$$;

comment on function paidonce.projection_of(text, text) is
    'Which built-in projection reads an event type or keeps an object type, or null.';

revoke all on function paidonce.projection_of(text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.projection_of(text, text)', variadic '{}');

-- file: functions/project/replace_invoice_lines.sql
-- Purpose:   make the lines of an invoice those of its newest statement. Credits once fixed stay as they are.
-- Arguments: invoice_id; object, the invoice as stated.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the lines.
create or replace function paidonce.replace_invoice_lines(invoice_id text, object jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    -- A list that is not there, or goes on (has_more), does not say what is gone.
    delete from paidonce.invoice_lines as l
    where l.invoice_id = replace_invoice_lines.invoice_id
        and jsonb_typeof(object #> '{lines,data}') = 'array'
        and object #> '{lines,has_more}' is distinct from 'true'
        and l.line_id not in (select n.line_id from paidonce.read_invoice_lines(object) as n);

    insert into paidonce.invoice_lines as l (
        invoice_id, line_id, price_id, product_id, subscription_id, amount, quantity, proration,
        stated_credits, price_stated, period_start, period_end
    )
    select
        replace_invoice_lines.invoice_id, n.line_id, n.price_id, n.product_id, n.subscription_id, n.amount, n.quantity, n.proration,
        n.stated_credits, n.price_stated, n.period_start, n.period_end
    from paidonce.read_invoice_lines(object) as n
    on conflict on constraint invoice_lines_pkey do update
    set price_id = excluded.price_id, product_id = excluded.product_id, subscription_id = excluded.subscription_id,
        amount = excluded.amount, quantity = excluded.quantity, proration = excluded.proration,
        stated_credits = excluded.stated_credits, price_stated = excluded.price_stated,
        period_start = excluded.period_start, period_end = excluded.period_end;
end
$$;

comment on function paidonce.replace_invoice_lines(text, jsonb) is
    'Makes the lines of an invoice those of its newest statement.';

revoke all on function paidonce.replace_invoice_lines(text, jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.replace_invoice_lines(text, jsonb)', variadic '{}');

-- file: functions/project/replace_subscription_items.sql
-- Purpose:   make the items of a subscription those of its newest statement.
-- Arguments: subscription_id; object, the subscription as stated.
-- Returns:   nothing.
-- Raises:    nothing.
-- Locks:     the items.
create or replace function paidonce.replace_subscription_items(subscription_id text, object jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    -- A list that goes on (has_more) does not say what is gone; the refetch will.
    delete from paidonce.subscription_items as i
    where i.subscription_id = replace_subscription_items.subscription_id
        and object #> '{items,has_more}' is distinct from 'true'
        and i.item_id not in (select n.item_id from paidonce.read_subscription_items(object) as n);

    insert into paidonce.subscription_items as i (
        subscription_id, item_id, price_id, product_id, lookup_key, quantity, current_period_start, current_period_end
    )
    select
        replace_subscription_items.subscription_id, n.item_id, n.price_id, n.product_id, n.lookup_key, n.quantity,
        n.current_period_start, n.current_period_end
    from paidonce.read_subscription_items(object) as n
    on conflict on constraint subscription_items_pkey do update
    set price_id = excluded.price_id, product_id = excluded.product_id, lookup_key = excluded.lookup_key, quantity = excluded.quantity,
        current_period_start = excluded.current_period_start, current_period_end = excluded.current_period_end
    where (i.price_id, i.product_id, i.lookup_key, i.quantity, i.current_period_start, i.current_period_end)
        is distinct from (excluded.price_id, excluded.product_id, excluded.lookup_key, excluded.quantity, excluded.current_period_start, excluded.current_period_end);
end
$$;

comment on function paidonce.replace_subscription_items(text, jsonb) is
    'Makes the items of a subscription those of its newest statement.';

revoke all on function paidonce.replace_subscription_items(text, jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.replace_subscription_items(text, jsonb)', variadic '{}');

-- file: functions/read/read_account.sql
-- Purpose:   read which connected account an event comes from.
-- Arguments: event: account of a snapshot event, context of a thin one.
-- Returns:   the account id (acct_...), or null for the platform's own.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_account(event jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return coalesce(event ->> 'account', event ->> 'context');
end
$$;

comment on function paidonce.read_account(jsonb) is
    'Connected account an event comes from; null for the platform''s own.';

revoke all on function paidonce.read_account(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_account(jsonb)', variadic '{}');

-- file: functions/read/read_checkout_session.sql
-- Purpose:   read what a checkout session says.
-- Arguments: object, a checkout session; user_key, the metadata key that names your user.
-- Returns:   its facts; null what it does not say. user_id is client_reference_id, else the metadata.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_checkout_session(
    object jsonb, user_key text,
    out customer_id text, out user_id text, out mode text, out status text, out payment_status text, out invoice_id text,
    out amount_total bigint, out currency text, out credits bigint, out created timestamptz
)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    customer_id := case 'string' when jsonb_typeof(object -> 'customer') then nullif(object ->> 'customer', '')
        when jsonb_typeof(object #> '{customer,id}') then nullif(object #>> '{customer,id}', '') end;
    user_id := coalesce(nullif(object ->> 'client_reference_id', ''), nullif(btrim(object -> 'metadata' ->> user_key), ''));
    mode := object ->> 'mode';
    status := object ->> 'status';
    payment_status := object ->> 'payment_status';
    invoice_id := case 'string' when jsonb_typeof(object -> 'invoice') then nullif(object ->> 'invoice', '')
        when jsonb_typeof(object #> '{invoice,id}') then nullif(object #>> '{invoice,id}', '') end;
    amount_total := case when jsonb_typeof(object -> 'amount_total') = 'number'
            and abs((object -> 'amount_total')::numeric) < 9223372036854775808
        then trunc((object -> 'amount_total')::numeric)::bigint end;
    currency := object ->> 'currency';
    credits := case when btrim(object #>> '{metadata,credits}') ~ '^[0-9]{1,12}$' then btrim(object #>> '{metadata,credits}')::bigint end;
    created := case when jsonb_typeof(object -> 'created') = 'number' and (object -> 'created')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'created')::double precision) end;
end
$$;

comment on function paidonce.read_checkout_session(jsonb, text) is
    'What a checkout session says.';

revoke all on function paidonce.read_checkout_session(jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.read_checkout_session(jsonb, text)', variadic '{}');

-- file: functions/read/read_customer.sql
-- Purpose:   read what a customer says.
-- Arguments: object, a customer.
-- Returns:   its facts; null what it does not say.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_customer(object jsonb, out email text, out name text)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    email := object ->> 'email';
    name := object ->> 'name';
end
$$;

comment on function paidonce.read_customer(jsonb) is
    'What a customer object says.';

revoke all on function paidonce.read_customer(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_customer(jsonb)', variadic '{}');

-- file: functions/read/read_customer_id.sql
-- Purpose:   read which customer an object belongs to.
-- Arguments: object, any Stripe object.
-- Returns:   the customer id (cus_...), or null (guests, products, prices).
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_customer_id(object jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case
        when object ->> 'object' = 'customer' then paidonce.read_object_id(object)
        else paidonce.read_object_id(object -> 'customer')
    end;
end
$$;

comment on function paidonce.read_customer_id(jsonb) is
    'The customer an object belongs to, named by id or expanded; a customer''s own id for the customer itself.';

revoke all on function paidonce.read_customer_id(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_customer_id(jsonb)', variadic '{}');

-- file: functions/read/read_dispute.sql
-- Purpose:   read what a dispute says.
-- Arguments: object, a dispute of any API version.
-- Returns:   its facts; null what it does not say. payment_ids: charge_id and payment_intent_id, as far as they are named.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_dispute(
    object jsonb,
    out charge_id text, out payment_intent_id text, out amount bigint, out currency text, out status text, out created timestamptz,
    out reason text, out payment_ids text[]
)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    charge_id := case 'string' when jsonb_typeof(object -> 'charge') then nullif(object ->> 'charge', '')
        when jsonb_typeof(object #> '{charge,id}') then nullif(object #>> '{charge,id}', '') end;
    payment_intent_id := case 'string' when jsonb_typeof(object -> 'payment_intent') then nullif(object ->> 'payment_intent', '')
        when jsonb_typeof(object #> '{payment_intent,id}') then nullif(object #>> '{payment_intent,id}', '') end;
    amount := case when jsonb_typeof(object -> 'amount') = 'number' and abs((object -> 'amount')::numeric) < 9223372036854775808
        then trunc((object -> 'amount')::numeric)::bigint end;
    currency := object ->> 'currency';
    status := object ->> 'status';
    created := case when jsonb_typeof(object -> 'created') = 'number' and (object -> 'created')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'created')::double precision) end;
    reason := object ->> 'reason';
    payment_ids := array_remove(array[charge_id, payment_intent_id], null);
end
$$;

comment on function paidonce.read_dispute(jsonb) is
    'What a dispute says.';

revoke all on function paidonce.read_dispute(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_dispute(jsonb)', variadic '{}');

-- file: functions/read/read_entitlement_summary.sql
-- Purpose:   read what Stripe says a customer is entitled to.
-- Arguments: object, an active entitlement summary.
-- Returns:   lookup keys in order, each once; complete: false where the list goes on beyond what the object carries.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_entitlement_summary(object jsonb, out features text[], out complete boolean)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    features := array(
        select distinct e.entitlement ->> 'lookup_key'
        from jsonb_array_elements(
            case jsonb_typeof(object #> '{entitlements,data}') when 'array' then object #> '{entitlements,data}' else '[]' end
        ) as e (entitlement)
        where e.entitlement ->> 'lookup_key' <> ''
        order by 1
    );
    complete := object #> '{entitlements,has_more}' is distinct from 'true';
end
$$;

comment on function paidonce.read_entitlement_summary(jsonb) is
    'What an active entitlement summary says.';

revoke all on function paidonce.read_entitlement_summary(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_entitlement_summary(jsonb)', variadic '{}');

-- file: functions/read/read_event.sql
-- Purpose:   check that a value is a Stripe event and read what the claim needs of it.
-- Arguments: event, a snapshot event, or a thin one, which only names its object.
-- Returns:   its id, type, object (of a thin event {id, object: its type}), that object's id, its customer, the connected account
--            (null for the platform's own), livemode, api_version and created.
-- Raises:    PO400 when id, type or data.object (of a thin event: nothing more) is missing or not of its kind.
-- Locks:     nothing.
create or replace function paidonce.read_event(event jsonb, out id text, out type text, out object jsonb, out object_id text,
    out customer_id text, out account text, out livemode boolean, out api_version text, out created timestamptz)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
declare
    v_thin constant boolean := event ->> 'object' = 'v2.core.event';
begin
    object := case when v_thin then jsonb_build_object('id', event #> '{related_object,id}', 'object', event #> '{related_object,type}')
        else event #> '{data,object}' end;
    id := event ->> 'id';
    type := event ->> 'type';
    if jsonb_typeof(event) is distinct from 'object'
        or jsonb_typeof(event -> 'id') is distinct from 'string' or length(id) not between 1 and 255
        or jsonb_typeof(event -> 'type') is distinct from 'string' or length(type) not between 1 and 255
        or jsonb_typeof(object) is distinct from 'object' then
        raise exception 'not a Stripe event: it needs an id, a type and a data.object' using errcode = 'PO400';
    end if;
    if jsonb_typeof(object -> 'id') = 'string' then
        object_id := nullif(object ->> 'id', '');
    end if;
    customer_id := case
        when object ->> 'object' = 'customer' then object_id
        when jsonb_typeof(object -> 'customer') = 'string' then nullif(object ->> 'customer', '')
        else paidonce.read_object_id(object -> 'customer')
    end;
    account := coalesce(event ->> 'account', event ->> 'context');
    if jsonb_typeof(event -> 'livemode') = 'boolean' then
        livemode := (event -> 'livemode')::boolean;
    end if;
    api_version := event ->> 'api_version';
    created := paidonce.read_time(event -> 'created');
end
$$;

comment on function paidonce.read_event(jsonb) is
    'What the claim needs of an event; raises PO400 where the value is not one.';

revoke all on function paidonce.read_event(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_event(jsonb)', variadic '{}');

-- file: functions/read/read_event_id.sql
-- Purpose:   check that a value is a Stripe event and read its id.
-- Arguments: event, a snapshot event or a thin one.
-- Returns:   the id (evt_...).
-- Raises:    PO400 when id, type or data.object (of a thin event: nothing more) is missing or not of its kind.
-- Locks:     nothing.
create or replace function paidonce.read_event_id(event jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    if jsonb_typeof(event) is distinct from 'object'
        or jsonb_typeof(event -> 'id') is distinct from 'string'
        or jsonb_typeof(event -> 'type') is distinct from 'string'
        or (jsonb_typeof(event #> '{data,object}') is distinct from 'object' and event ->> 'object' is distinct from 'v2.core.event')
        or length(event ->> 'id') not between 1 and 255
        or length(event ->> 'type') not between 1 and 255 then
        raise exception 'not a Stripe event: it needs an id, a type and a data.object' using errcode = 'PO400';
    end if;
    return event ->> 'id';
end
$$;

comment on function paidonce.read_event_id(jsonb) is
    'Id of a Stripe event; raises PO400 where the value is not one.';

revoke all on function paidonce.read_event_id(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_event_id(jsonb)', variadic '{}');

-- file: functions/read/read_flag.sql
-- Purpose:   read one of Stripe's booleans.
-- Arguments: value.
-- Returns:   true, false, or null when it is absent or no boolean.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_flag(value jsonb)
returns boolean
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case jsonb_typeof(value) when 'boolean' then (value #>> '{}')::boolean end;
end
$$;

comment on function paidonce.read_flag(jsonb) is
    'A JSON boolean; null where it is absent or something else.';

revoke all on function paidonce.read_flag(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_flag(jsonb)', variadic '{}');

-- file: functions/read/read_integer.sql
-- Purpose:   read a whole number.
-- Arguments: value.
-- Returns:   the number, without any fraction; null when it is absent, no number or too large.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_integer(value jsonb)
returns bigint
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    if jsonb_typeof(value) = 'number' and (value #>> '{}')::numeric between -9223372036854775808 and 9223372036854775807 then
        return trunc((value #>> '{}')::numeric);
    end if;
    return null;
end
$$;

comment on function paidonce.read_integer(jsonb) is
    'A JSON number as bigint; null where it is absent or no number.';

revoke all on function paidonce.read_integer(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_integer(jsonb)', variadic '{}');

-- file: functions/read/read_invoice.sql
-- Purpose:   read what an invoice says.
-- Arguments: object, an invoice of any API version. Stripe API 2025-03-31 moved the subscription to parent.subscription_details and the payments
--            to payments.data. Early versions say only that it is paid and what was due.
-- Returns:   its facts; null what it does not say. payment_ids: of payment intents and charges.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_invoice(
    object jsonb,
    out customer_id text, out subscription_id text, out status text, out billing_reason text, out subtotal bigint, out total bigint,
    out amount_due bigint, out amount_paid bigint, out currency text, out period_start timestamptz, out period_end timestamptz,
    out created timestamptz, out payment_ids text[]
)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    customer_id := case 'string' when jsonb_typeof(object -> 'customer') then nullif(object ->> 'customer', '')
        when jsonb_typeof(object #> '{customer,id}') then nullif(object #>> '{customer,id}', '') end;
    subscription_id := case 'string' when jsonb_typeof(object -> 'subscription') then nullif(object ->> 'subscription', '')
        when jsonb_typeof(object #> '{subscription,id}') then nullif(object #>> '{subscription,id}', '') end;
    if subscription_id is null then
        subscription_id := paidonce.read_object_id(object #> '{parent,subscription_details,subscription}');
    end if;
    status := paidonce.read_invoice_status(object);
    billing_reason := object ->> 'billing_reason';
    subtotal := case when jsonb_typeof(object -> 'subtotal') = 'number' and abs((object -> 'subtotal')::numeric) < 9223372036854775808
        then trunc((object -> 'subtotal')::numeric)::bigint end;
    total := case when jsonb_typeof(object -> 'total') = 'number' and abs((object -> 'total')::numeric) < 9223372036854775808
        then trunc((object -> 'total')::numeric)::bigint end;
    amount_due := case when jsonb_typeof(object -> 'amount_due') = 'number' and abs((object -> 'amount_due')::numeric) < 9223372036854775808
        then trunc((object -> 'amount_due')::numeric)::bigint end;
    amount_paid := case when jsonb_typeof(object -> 'amount_paid') = 'number'
            and abs((object -> 'amount_paid')::numeric) < 9223372036854775808
        then trunc((object -> 'amount_paid')::numeric)::bigint end;
    if amount_paid is null and status = 'paid' then
        amount_paid := amount_due;
    end if;
    currency := object ->> 'currency';
    period_start := case when jsonb_typeof(object -> 'period_start') = 'number'
            and (object -> 'period_start')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'period_start')::double precision) end;
    period_end := case when jsonb_typeof(object -> 'period_end') = 'number' and (object -> 'period_end')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'period_end')::double precision) end;
    created := case when jsonb_typeof(object -> 'created') = 'number' and (object -> 'created')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'created')::double precision) end;
    if created is null then -- its name before API 2018-11-08
        created := case when jsonb_typeof(object -> 'date') = 'number' and (object -> 'date')::numeric between 0 and 253402300799
            then to_timestamp((object -> 'date')::double precision) end;
    end if;
    payment_ids := array_remove(array[
        case 'string' when jsonb_typeof(object -> 'charge') then nullif(object ->> 'charge', '')
            when jsonb_typeof(object #> '{charge,id}') then nullif(object #>> '{charge,id}', '') end,
        case 'string' when jsonb_typeof(object -> 'payment_intent') then nullif(object ->> 'payment_intent', '')
            when jsonb_typeof(object #> '{payment_intent,id}') then nullif(object #>> '{payment_intent,id}', '') end
    ], null);
    if jsonb_typeof(object #> '{payments,data}') = 'array' and object #> '{payments,data}' <> '[]' then
        payment_ids := array(
            select unnest(payment_ids)
            union
            select unnest((paidonce.read_invoice_payment(p.payment)).payment_ids)
            from jsonb_array_elements(object #> '{payments,data}') as p (payment)
            order by 1
        );
    end if;
end
$$;

comment on function paidonce.read_invoice(jsonb) is
    'What an invoice of any API version says.';

revoke all on function paidonce.read_invoice(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_invoice(jsonb)', variadic '{}');

-- file: functions/read/read_invoice_lines.sql
-- Purpose:   read what an invoice bills.
-- Arguments: object, an invoice of any API version. Until 2025-03-31 a line had its price (earlier: plan), proration and subscription itself, since
--            then in pricing.price_details and parent.*_details; early lines had the id of their subscription.
-- Returns:   one row per line, as far as it has an id, each id once. stated_credits and price_stated: where the line carries the whole price.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_invoice_lines(object jsonb)
returns table (
    line_id text, price_id text, product_id text, subscription_id text, amount bigint, quantity bigint, proration boolean,
    stated_credits bigint, price_stated boolean, period_start timestamptz, period_end timestamptz
)
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return query
    select distinct on (1)
        n.line ->> 'id',
        coalesce(
            paidonce.read_object_id(n.line #> '{pricing,price_details,price}'),
            paidonce.read_object_id(n.line -> 'price'),
            paidonce.read_object_id(n.line -> 'plan')
        ),
        coalesce(
            paidonce.read_object_id(n.line #> '{pricing,price_details,product}'),
            paidonce.read_object_id(n.line #> '{price,product}'),
            paidonce.read_object_id(n.line #> '{plan,product}')
        ),
        coalesce(
            paidonce.read_object_id(n.line -> 'subscription'),
            paidonce.read_object_id(n.line #> '{parent,subscription_item_details,subscription}'),
            paidonce.read_object_id(n.line #> '{parent,invoice_item_details,subscription}'),
            case when n.line ->> 'id' like 'sub\_%' then n.line ->> 'id' end
        ),
        case when jsonb_typeof(n.line -> 'amount') = 'number' and abs((n.line -> 'amount')::numeric) < 9223372036854775808
            then trunc((n.line -> 'amount')::numeric)::bigint end,
        case when jsonb_typeof(n.line -> 'quantity') = 'number' and abs((n.line -> 'quantity')::numeric) < 9223372036854775808
            then trunc((n.line -> 'quantity')::numeric)::bigint end,
        case 'boolean'
            when jsonb_typeof(n.line -> 'proration') then n.line -> 'proration'
            when jsonb_typeof(n.line #> '{parent,subscription_item_details,proration}') then
                n.line #> '{parent,subscription_item_details,proration}'
            when jsonb_typeof(n.line #> '{parent,invoice_item_details,proration}') then
                n.line #> '{parent,invoice_item_details,proration}'
            else 'false'
        end = 'true',
        case when btrim(w.price #>> '{metadata,credits}') ~ '^[0-9]{1,12}$' then btrim(w.price #>> '{metadata,credits}')::bigint end,
        w.price is not null,
        case when jsonb_typeof(n.line #> '{period,start}') = 'number' and (n.line #> '{period,start}')::numeric between 0 and 253402300799
            then to_timestamp((n.line #> '{period,start}')::double precision) end,
        case when jsonb_typeof(n.line #> '{period,end}') = 'number' and (n.line #> '{period,end}')::numeric between 0 and 253402300799
            then to_timestamp((n.line #> '{period,end}')::double precision) end
    from jsonb_array_elements(case jsonb_typeof(object #> '{lines,data}') when 'array' then object #> '{lines,data}' else '[]' end) as n (line)
    cross join lateral (
        select case 'object'
            when jsonb_typeof(n.line #> '{pricing,price_details,price}') then n.line #> '{pricing,price_details,price}'
            when jsonb_typeof(n.line -> 'price') then n.line -> 'price'
            when jsonb_typeof(n.line -> 'plan') then n.line -> 'plan'
        end as price
    ) as w
    where n.line ->> 'id' is not null
    order by 1, n.line::pg_catalog.text;
end
$$;

comment on function paidonce.read_invoice_lines(jsonb) is
    'The lines of an invoice of any API version.';

revoke all on function paidonce.read_invoice_lines(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_invoice_lines(jsonb)', variadic '{}');

-- file: functions/read/read_invoice_payment.sql
-- Purpose:   read which payment an invoice payment stands for.
-- Arguments: object, an invoice_payment (API 2025-03-31 and later).
-- Returns:   its facts; payment_ids are those of its payment intent and charge, as far as they are named.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_invoice_payment(object jsonb, out invoice_id text, out status text, out payment_ids text[])
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    invoice_id := case 'string' when jsonb_typeof(object -> 'invoice') then nullif(object ->> 'invoice', '')
        when jsonb_typeof(object #> '{invoice,id}') then nullif(object #>> '{invoice,id}', '') end;
    status := object ->> 'status';
    payment_ids := array_remove(array[
        paidonce.read_object_id(object #> '{payment,payment_intent}'),
        paidonce.read_object_id(object #> '{payment,charge}')
    ], null);
end
$$;

comment on function paidonce.read_invoice_payment(jsonb) is
    'What an invoice payment says: which payment stands for which invoice.';

revoke all on function paidonce.read_invoice_payment(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_invoice_payment(jsonb)', variadic '{}');

-- file: functions/read/read_invoice_status.sql
-- Purpose:   read the state of an invoice.
-- Arguments: object, an invoice of any API version. Before API 2018-11-08 flags (paid, closed, forgiven) said what status says now.
-- Returns:   draft, open, paid, uncollectible or void; null when nothing says it.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_invoice_status(object jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    if paidonce.read_flag(object -> 'paid') then
        return 'paid'; -- the flag, where there is one, is stated with every invoice.* event of its version
    end if;
    if jsonb_typeof(object -> 'status') = 'string' then
        return object ->> 'status';
    end if;
    return case
        when paidonce.read_flag(object -> 'forgiven') then 'uncollectible'
        when paidonce.read_flag(object -> 'closed') then 'void'
        when paidonce.read_flag(object -> 'paid') is not null then 'open'
    end;
end
$$;

comment on function paidonce.read_invoice_status(jsonb) is
    'State of an invoice, from its status or from the flags of old API versions.';

revoke all on function paidonce.read_invoice_status(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_invoice_status(jsonb)', variadic '{}');

-- file: functions/read/read_line_goods.sql
-- Purpose:   read which prices and products the lines of an invoice are about.
-- Arguments: object, an invoice of any API version; anything else names none.
-- Returns:   ids of prices, plans and products, each once, in no order; empty when there are none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_line_goods(object jsonb)
returns text[]
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    if object ->> 'object' is distinct from 'invoice' or jsonb_typeof(object #> '{lines,data}') is distinct from 'array' then
        return array[]::pg_catalog.text[];
    end if;
    return array(
        select distinct case jsonb_typeof(r.ref) when 'string' then r.ref #>> '{}' when 'object' then r.ref ->> 'id' end
        from jsonb_array_elements(object #> '{lines,data}') as l (line)
        cross join lateral (values
            (l.line #> '{pricing,price_details,price}'), (l.line #> '{pricing,price_details,product}'),
            (l.line -> 'price'), (l.line #> '{price,product}'), (l.line -> 'plan'), (l.line #> '{plan,product}')
        ) as r (ref)
        where jsonb_typeof(r.ref) in ('string', 'object')
    );
end
$$;

comment on function paidonce.read_line_goods(jsonb) is
    'Prices and products that the lines of an invoice are about.';

revoke all on function paidonce.read_line_goods(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_line_goods(jsonb)', variadic '{}');

-- file: functions/read/read_metadata.sql
-- Purpose:   read one metadata value.
-- Arguments: object, any Stripe object; key.
-- Returns:   the value as text, or null when there is none or it is blank.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_metadata(object jsonb, key text)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case jsonb_typeof(object -> 'metadata') when 'object' then nullif(btrim(object -> 'metadata' ->> key), '') end;
end
$$;

comment on function paidonce.read_metadata(jsonb, text) is
    'One metadata value of an object; null when there is none.';

revoke all on function paidonce.read_metadata(jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.read_metadata(jsonb, text)', variadic '{}');

-- file: functions/read/read_named_ids.sql
-- Purpose:   read every id that an object names and that belongs to one purchase with it: its own, and those of its subscription,
--            invoice, payment intents and charges.
-- Arguments: object, any Stripe object of any API version, or a list of invoice payments.
-- Returns:   ids, each once, in no order; empty when it names none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_named_ids(object jsonb)
returns text[]
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return array(
        select distinct case jsonb_typeof(n.ref) when 'string' then n.ref #>> '{}' when 'object' then n.ref ->> 'id' end as id
        from (
            select object
            union all
            select object -> k.key
            from unnest('{subscription,invoice,payment_intent,charge,latest_charge}'::pg_catalog.text[]) as k (key)
            where object ? k.key
            union all
            -- Stripe API 2025-03-31 moved an invoice's subscription and payments.
            select object #> '{parent,subscription_details,subscription}' where object ? 'parent'
            union all
            select r.ref
            from (values (object), (object -> 'payments'), (object -> 'charges')) as l (list)
            cross join lateral jsonb_array_elements(case jsonb_typeof(l.list -> 'data') when 'array' then l.list -> 'data' else '[]' end) as e (element)
            cross join lateral (values
                (case when e.element ->> 'object' = 'charge' then e.element end),
                (e.element -> 'invoice'), (e.element #> '{payment,payment_intent}'), (e.element #> '{payment,charge}')
            ) as r (ref)
            where object ?| '{payments,charges,data}'
            union all
            select r.ref
            from (values (object #> '{payment,payment_intent}'), (object #> '{payment,charge}')) as r (ref)
            where object ? 'payment'
        ) as n (ref)
        where n.ref is not null and case jsonb_typeof(n.ref) when 'string' then n.ref #>> '{}' when 'object' then n.ref ->> 'id' end <> ''
    );
end
$$;

comment on function paidonce.read_named_ids(jsonb) is
    'Every id of one purchase that an object names, its own among them.';

revoke all on function paidonce.read_named_ids(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_named_ids(jsonb)', variadic '{}');

-- file: functions/read/read_object.sql
-- Purpose:   read the object an event is about.
-- Arguments: event, a snapshot event, or a thin one, which only names its object.
-- Returns:   data.object; of a thin event {id, object: its type}; null where it names none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_object(event jsonb)
returns jsonb
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case
        when event ->> 'object' = 'v2.core.event' then jsonb_build_object(
            'id', event #> '{related_object,id}', 'object', event #> '{related_object,type}'
        )
        else event #> '{data,object}'
    end;
end
$$;

comment on function paidonce.read_object(jsonb) is
    'The object an event is about; of a thin event its id and type.';

revoke all on function paidonce.read_object(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_object(jsonb)', variadic '{}');

-- file: functions/read/read_object_id.sql
-- Purpose:   read the id of an object, or of a reference to one.
-- Arguments: object, a whole (or expanded) object, or its id as a JSON string.
-- Returns:   the id, or null.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_object_id(object jsonb)
returns text
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return case jsonb_typeof(object)
        when 'string' then nullif(object #>> '{}', '')
        when 'object' then case when jsonb_typeof(object -> 'id') = 'string' then nullif(object ->> 'id', '') end
    end;
end
$$;

comment on function paidonce.read_object_id(jsonb) is
    'Id of an object, given as the object or as its id; null where there is none.';

revoke all on function paidonce.read_object_id(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_object_id(jsonb)', variadic '{}');

-- file: functions/read/read_payment.sql
-- Purpose:   read what a payment says.
-- Arguments: object, a payment intent or charge of any API version; user_key, the metadata key that names your user. Since API 2025-03-31 it no
--            longer names its invoice. A charge before 2020-08-27 brought in its amount, once captured.
-- Returns:   its facts; null what it does not say. payment_ids: see paidonce.read_payment_ids.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_payment(
    object jsonb, user_key text,
    out kind text, out customer_id text, out invoice_id text, out status text, out amount bigint, out amount_paid bigint,
    out amount_refunded bigint, out currency text, out user_id text, out credits bigint, out created timestamptz,
    out payment_ids text[]
)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    kind := case object ->> 'object' when 'charge' then 'charge' else 'payment_intent' end;
    customer_id := case 'string' when jsonb_typeof(object -> 'customer') then nullif(object ->> 'customer', '')
        when jsonb_typeof(object #> '{customer,id}') then nullif(object #>> '{customer,id}', '') end;
    invoice_id := case 'string' when jsonb_typeof(object -> 'invoice') then nullif(object ->> 'invoice', '')
        when jsonb_typeof(object #> '{invoice,id}') then nullif(object #>> '{invoice,id}', '') end;
    status := object ->> 'status';
    amount := case when jsonb_typeof(object -> 'amount') = 'number' and abs((object -> 'amount')::numeric) < 9223372036854775808
        then trunc((object -> 'amount')::numeric)::bigint end;
    amount_paid := case when jsonb_typeof(object -> 'amount_received') = 'number'
            and abs((object -> 'amount_received')::numeric) < 9223372036854775808
        then trunc((object -> 'amount_received')::numeric)::bigint end;
    if amount_paid is null then
        amount_paid := case when jsonb_typeof(object -> 'amount_captured') = 'number'
                and abs((object -> 'amount_captured')::numeric) < 9223372036854775808
            then trunc((object -> 'amount_captured')::numeric)::bigint end;
    end if;
    if amount_paid is null and object -> 'captured' = 'true' then
        amount_paid := amount;
    end if;
    amount_refunded := case when jsonb_typeof(object -> 'amount_refunded') = 'number'
            and abs((object -> 'amount_refunded')::numeric) < 9223372036854775808
        then trunc((object -> 'amount_refunded')::numeric)::bigint end;
    currency := object ->> 'currency';
    user_id := nullif(btrim(object -> 'metadata' ->> user_key), '');
    credits := case when btrim(object #>> '{metadata,credits}') ~ '^[0-9]{1,12}$' then btrim(object #>> '{metadata,credits}')::bigint end;
    created := case when jsonb_typeof(object -> 'created') = 'number' and (object -> 'created')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'created')::double precision) end;
    payment_ids := paidonce.read_payment_ids(object);
end
$$;

comment on function paidonce.read_payment(jsonb, text) is
    'What a payment intent or charge of any API version says.';

revoke all on function paidonce.read_payment(jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.read_payment(jsonb, text)', variadic '{}');

-- file: functions/read/read_payment_ids.sql
-- Purpose:   read which payment intent and charges a payment names.
-- Arguments: object, a payment intent, charge, refund or dispute of any API version. Before 2022-11-15 an intent listed its charges, since
--            then it names the latest.
-- Returns:   ids, sorted; the object's own among them when it is an intent or a charge.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_payment_ids(object jsonb)
returns text[]
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return array(
        select distinct r.id
        from (
            select case when object ->> 'object' in ('payment_intent', 'charge') then paidonce.read_object_id(object) end
            union all
            select paidonce.read_object_id(object -> 'payment_intent')
            union all
            select paidonce.read_object_id(object -> 'charge')
            union all
            select paidonce.read_object_id(object -> 'latest_charge')
            union all
            select paidonce.read_object_id(c.charge)
            from jsonb_array_elements(
                case jsonb_typeof(object #> '{charges,data}') when 'array' then object #> '{charges,data}' else '[]' end
            ) as c (charge)
        ) as r (id)
        where r.id is not null
        order by 1
    );
end
$$;

comment on function paidonce.read_payment_ids(jsonb) is
    'Payment intent and charges that a payment, refund or dispute names, from any of their places.';

revoke all on function paidonce.read_payment_ids(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_payment_ids(jsonb)', variadic '{}');

-- file: functions/read/read_price.sql
-- Purpose:   read what a price says.
-- Arguments: object, a price, or a plan of an old API version (its amount and interval stood elsewhere).
-- Returns:   its facts; null what it does not say.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_price(
    object jsonb,
    out active boolean, out product_id text, out lookup_key text, out unit_amount bigint, out currency text,
    out recurring_interval text, out credits bigint
)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    active := object -> 'active' is distinct from 'false';
    product_id := case 'string' when jsonb_typeof(object -> 'product') then nullif(object ->> 'product', '')
        when jsonb_typeof(object #> '{product,id}') then nullif(object #>> '{product,id}', '') end;
    lookup_key := nullif(object ->> 'lookup_key', '');
    unit_amount := case when jsonb_typeof(object -> 'unit_amount') = 'number'
            and abs((object -> 'unit_amount')::numeric) < 9223372036854775808
        then trunc((object -> 'unit_amount')::numeric)::bigint end;
    if unit_amount is null then
        unit_amount := case when jsonb_typeof(object -> 'amount') = 'number' and abs((object -> 'amount')::numeric) < 9223372036854775808
            then trunc((object -> 'amount')::numeric)::bigint end;
    end if;
    currency := object ->> 'currency';
    recurring_interval := coalesce(object #>> '{recurring,interval}', object ->> 'interval');
    credits := case when btrim(object #>> '{metadata,credits}') ~ '^[0-9]{1,12}$' then btrim(object #>> '{metadata,credits}')::bigint end;
end
$$;

comment on function paidonce.read_price(jsonb) is
    'What a price, or a plan of an old API version, says.';

revoke all on function paidonce.read_price(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_price(jsonb)', variadic '{}');

-- file: functions/read/read_product.sql
-- Purpose:   read what a product says.
-- Arguments: object, a product.
-- Returns:   its facts; null what it does not say. features: the names in metadata feature, or features separated by commas, in order, each once.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_product(object jsonb, out active boolean, out name text, out features text[], out credits bigint)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    active := object -> 'active' is distinct from 'false';
    name := object ->> 'name';
    features := array(
        select distinct btrim(f.name)
        from regexp_split_to_table(concat_ws(',', object #>> '{metadata,feature}', object #>> '{metadata,features}'), ',') as f (name)
        where btrim(f.name) <> ''
        order by 1
    );
    credits := case when btrim(object #>> '{metadata,credits}') ~ '^[0-9]{1,12}$' then btrim(object #>> '{metadata,credits}')::bigint end;
end
$$;

comment on function paidonce.read_product(jsonb) is
    'What a product says, and what its metadata names.';

revoke all on function paidonce.read_product(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_product(jsonb)', variadic '{}');

-- file: functions/read/read_refund.sql
-- Purpose:   read what a refund says.
-- Arguments: object, a refund of any API version.
-- Returns:   its facts; null what it does not say. payment_ids: charge_id and payment_intent_id, as far as they are named.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_refund(
    object jsonb,
    out charge_id text, out payment_intent_id text, out amount bigint, out currency text, out status text, out created timestamptz,
    out payment_ids text[]
)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    charge_id := case 'string' when jsonb_typeof(object -> 'charge') then nullif(object ->> 'charge', '')
        when jsonb_typeof(object #> '{charge,id}') then nullif(object #>> '{charge,id}', '') end;
    payment_intent_id := case 'string' when jsonb_typeof(object -> 'payment_intent') then nullif(object ->> 'payment_intent', '')
        when jsonb_typeof(object #> '{payment_intent,id}') then nullif(object #>> '{payment_intent,id}', '') end;
    amount := case when jsonb_typeof(object -> 'amount') = 'number' and abs((object -> 'amount')::numeric) < 9223372036854775808
        then trunc((object -> 'amount')::numeric)::bigint end;
    currency := object ->> 'currency';
    status := object ->> 'status';
    created := case when jsonb_typeof(object -> 'created') = 'number' and (object -> 'created')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'created')::double precision) end;
    payment_ids := array_remove(array[charge_id, payment_intent_id], null);
end
$$;

comment on function paidonce.read_refund(jsonb) is
    'What a refund says.';

revoke all on function paidonce.read_refund(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_refund(jsonb)', variadic '{}');

-- file: functions/read/read_subscription.sql
-- Purpose:   read what a subscription says.
-- Arguments: object, a subscription of any API version. Stripe API 2025-03-31 moved the period to the items. With flexible billing
--            (API 2025-06-30) the portal sets cancel_at and leaves the flag false. Pausing collection leaves the status as it was.
-- Returns:   its facts; null what it does not say. Of periods: its own before API 2025-03-31, that of the item which ends first since then.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_subscription(
    object jsonb,
    out customer_id text, out status text, out created timestamptz, out current_period_start timestamptz,
    out current_period_end timestamptz, out trial_end timestamptz, out cancel_at timestamptz, out canceled_at timestamptz,
    out ended_at timestamptz, out pause_behavior text
)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    customer_id := case 'string' when jsonb_typeof(object -> 'customer') then nullif(object ->> 'customer', '')
        when jsonb_typeof(object #> '{customer,id}') then nullif(object #>> '{customer,id}', '') end;
    status := coalesce(object ->> 'status', 'unknown');
    created := case when jsonb_typeof(object -> 'created') = 'number' and (object -> 'created')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'created')::double precision) end;
    if jsonb_typeof(object -> 'current_period_end') = 'number' then
        current_period_start := case when jsonb_typeof(object -> 'current_period_start') = 'number'
                and (object -> 'current_period_start')::numeric between 0 and 253402300799
            then to_timestamp((object -> 'current_period_start')::double precision) end;
        current_period_end := case when jsonb_typeof(object -> 'current_period_end') = 'number'
                and (object -> 'current_period_end')::numeric between 0 and 253402300799
            then to_timestamp((object -> 'current_period_end')::double precision) end;
    else
        -- Items may have periods of their own; the one that ends first is the next moment anything happens.
        select
            case when jsonb_typeof(i.item -> 'current_period_start') = 'number'
                and (i.item -> 'current_period_start')::numeric between 0
                and 253402300799
                then to_timestamp((i.item -> 'current_period_start')::double precision) end,
            case when jsonb_typeof(i.item -> 'current_period_end') = 'number'
                and (i.item -> 'current_period_end')::numeric between 0
                and 253402300799
                then to_timestamp((i.item -> 'current_period_end')::double precision) end
        into current_period_start, current_period_end
        from jsonb_array_elements(
            case jsonb_typeof(object #> '{items,data}') when 'array' then object #> '{items,data}' else '[]' end
        ) as i (item)
        where jsonb_typeof(i.item -> 'current_period_end') = 'number'
        order by 2, 1
        limit 1;
    end if;
    trial_end := case when jsonb_typeof(object -> 'trial_end') = 'number' and (object -> 'trial_end')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'trial_end')::double precision) end;
    cancel_at := case when jsonb_typeof(object -> 'cancel_at') = 'number' and (object -> 'cancel_at')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'cancel_at')::double precision) end;
    if cancel_at is null and object -> 'cancel_at_period_end' = 'true' then
        cancel_at := current_period_end;
    end if;
    canceled_at := case when jsonb_typeof(object -> 'canceled_at') = 'number'
            and (object -> 'canceled_at')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'canceled_at')::double precision) end;
    ended_at := case when jsonb_typeof(object -> 'ended_at') = 'number' and (object -> 'ended_at')::numeric between 0 and 253402300799
        then to_timestamp((object -> 'ended_at')::double precision) end;
    pause_behavior := object #>> '{pause_collection,behavior}';
end
$$;

comment on function paidonce.read_subscription(jsonb) is
    'What a subscription of any API version says.';

revoke all on function paidonce.read_subscription(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_subscription(jsonb)', variadic '{}');

-- file: functions/read/read_subscription_items.sql
-- Purpose:   read what a subscription is for.
-- Arguments: object, a subscription of any API version. Before items there was one plan and one quantity. Prices and plans stand there by id or
--            expanded; only an expanded price has a lookup key (API 2020-08-27 and later).
-- Returns:   one row per item, as far as it has an id, each id once.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_subscription_items(object jsonb)
returns table (
    item_id text, price_id text, product_id text, lookup_key text, quantity bigint,
    current_period_start timestamptz, current_period_end timestamptz
)
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return query
    select distinct on (1)
        n.item ->> 'id',
        coalesce(paidonce.read_object_id(n.item -> 'price'),
            paidonce.read_object_id(n.item -> 'plan')),
        coalesce(paidonce.read_object_id(n.item #> '{price,product}'),
            paidonce.read_object_id(n.item #> '{plan,product}')),
        nullif(n.item #>> '{price,lookup_key}', ''),
        case when jsonb_typeof(n.item -> 'quantity') = 'number' and abs((n.item -> 'quantity')::numeric) < 9223372036854775808
            then trunc((n.item -> 'quantity')::numeric)::bigint end,
        case when jsonb_typeof(n.item -> 'current_period_start') = 'number' and (n.item -> 'current_period_start')::numeric between 0 and 253402300799
            then to_timestamp((n.item -> 'current_period_start')::double precision) end,
        case when jsonb_typeof(n.item -> 'current_period_end') = 'number' and (n.item -> 'current_period_end')::numeric between 0 and 253402300799
            then to_timestamp((n.item -> 'current_period_end')::double precision) end
    from jsonb_array_elements(case
        when jsonb_typeof(object #> '{items,data}') = 'array' and object #> '{items,data}' <> '[]' then object #> '{items,data}'
        when jsonb_typeof(object -> 'plan') = 'object' then jsonb_build_array(jsonb_build_object(
            'id', (object ->> 'id') || ':plan', 'plan', object -> 'plan', 'quantity', object -> 'quantity'
        ))
        else '[]'
    end) as n (item)
    where n.item ->> 'id' is not null
    order by 1, n.item::pg_catalog.text;
end
$$;

comment on function paidonce.read_subscription_items(jsonb) is
    'The items of a subscription; one made of its plan where old API versions state no items.';

revoke all on function paidonce.read_subscription_items(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_subscription_items(jsonb)', variadic '{}');

-- file: functions/read/read_time.sql
-- Purpose:   read one of Stripe's times.
-- Arguments: value, seconds since 1970 as a JSON number, or (thin events) an ISO 8601 time in UTC.
-- Returns:   the time (UTC), or null when it is absent, null or no time before the year 10000.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_time(value jsonb)
returns timestamptz
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    if jsonb_typeof(value) = 'number' then
        return case when value::numeric between 0 and 253402300799 then to_timestamp(value::double precision) end;
    end if;
    if value #>> '{}' ~ '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?Z$'
        or value #>> '{}' ~ '^[0-9]{4}-(0[13-9]|1[0-2])-(29|30)T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?Z$'
        or value #>> '{}' ~ '^[0-9]{4}-(0[13578]|1[02])-31T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?Z$' then
        return (value #>> '{}')::pg_catalog.timestamptz;
    end if;
    return null;
end
$$;

comment on function paidonce.read_time(jsonb) is
    'A Stripe time (seconds since 1970, or ISO 8601 in thin events) as timestamptz; null where it is absent or no time.';

revoke all on function paidonce.read_time(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_time(jsonb)', variadic '{}');

-- file: functions/snapshot/apply_snapshot.sql
-- Purpose:   apply Stripe's current state of an object, as fetched. It has the last word over events, unless one arrived while it was being
--            fetched: then it is asked for again.
-- Arguments: object, as Stripe's API answered ({id, object, deleted: true} where it is gone); a key "paidonce": {"account"} may name its connected
--            account. observed_at, the Date header of that answer: Stripe's clock, like created. generation, as paidonce.generation_of gave it
--            before the request.
-- Returns:   applied; moved, when an event arrived meanwhile and the object was asked for again; older, when a later answer was applied already.
-- Raises:    22023 when the object has no id, no type or one that is not kept; else as handle_stripe_event.
-- Locks:     as an event about the object.
create or replace function paidonce.apply_snapshot(object jsonb, observed_at timestamptz, generation bigint)
returns text
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_type    constant pg_catalog.text := object ->> 'object';
    v_id      constant pg_catalog.text := coalesce(paidonce.read_object_id(object), paidonce.read_customer_id(object));
    v_object  pg_catalog.jsonb := case jsonb_typeof(object) when 'object' then object - 'paidonce' end;
    v_account pg_catalog.text := object #>> '{paidonce,account}';
    v_kept    pg_catalog.record;
    v_event   pg_catalog.jsonb;
begin
    perform paidonce.require_read_committed();
    if v_id is null or observed_at is null or not isfinite(observed_at) or paidonce.projection_of(null, v_type) is null then
        raise exception 'apply_snapshot needs an object with an id, of a type that is kept, and the time of the answer; got %',
            coalesce(v_type, 'no object') using errcode = 'invalid_parameter_value';
    end if;

    v_event := jsonb_build_object('type', 'snapshot', 'created', extract(epoch from observed_at), 'data', jsonb_build_object('object', v_object));
    perform paidonce.lock_event(v_event, v_object, paidonce.read_customer_id(v_object), (select s.user_id_metadata_key from paidonce.settings as s));
    select s.* into v_kept from paidonce.stated(v_type, v_id) as s;
    v_account := coalesce(v_account, v_kept.account);

    if coalesce(v_kept.generation, 0) <> coalesce(apply_snapshot.generation, 0) then
        perform paidonce.request_refetch(jsonb_build_object('account', v_account), v_type, v_id);
        return 'moved';
    end if;
    if v_kept.as_of > observed_at then
        return 'older';
    end if;

    if paidonce.read_flag(v_object -> 'deleted') then
        v_object := coalesce(v_kept.data, '{}') || case v_type
            when 'subscription' then jsonb_build_object('status', 'canceled', 'ended_at', extract(epoch from observed_at)::bigint)
            when 'invoice' then jsonb_build_object('status', 'void')
            else '{}'
        end || v_object;
    end if;
    perform paidonce.project_event(jsonb_strip_nulls(jsonb_build_object('account', v_account, 'livemode', v_object -> 'livemode'))
        || jsonb_set(v_event, '{data,object}', v_object));
    return 'applied';
end
$$;

comment on function paidonce.apply_snapshot(jsonb, timestamptz, bigint) is
    'Applies Stripe''s current state of an object: the last word over events, unless one arrived meanwhile. Returns applied, moved or older.';

revoke all on function paidonce.apply_snapshot(jsonb, timestamptz, bigint) from public;
call paidonce.only_grant('execute', 'function paidonce.apply_snapshot(jsonb, timestamptz, bigint)', 'paidonce_worker');

-- file: functions/snapshot/generation_of.sql
-- Purpose:   tell how many times an object was spoken of, to be read before it is fetched.
-- Arguments: object_type, as Stripe names it; object_id (of an entitlement summary: its customer).
-- Returns:   the generation of its row; 0 when there is none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.generation_of(object_type text, object_id text)
returns bigint
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
    return coalesce((select s.generation from paidonce.stated(object_type, object_id) as s), 0);
end
$$;

comment on function paidonce.generation_of(text, text) is
    'How many times an object was spoken of; read it before fetching the object, hand it to paidonce.apply_snapshot.';

revoke all on function paidonce.generation_of(text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.generation_of(text, text)', 'paidonce_worker');

-- file: functions/snapshot/kept_in.sql
-- Purpose:   say where a projection keeps its objects: x in the table paidonce.xs, which inherits from paidonce.objects.
-- Arguments: projection, as paidonce.projection_of names it.
-- Returns:   relation and key, its primary key; both null when it keeps none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.kept_in(projection text, out relation regclass, out key name)
returns record
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
    if projection is null then
        return; -- an event that no projection reads
    end if;
    select i.inhrelid, a.attname into relation, key
    from pg_catalog.pg_inherits as i
    join pg_catalog.pg_index as x on x.indrelid = i.inhrelid and x.indisprimary
    join pg_catalog.pg_attribute as a on a.attrelid = x.indrelid and a.attnum = x.indkey[0]
    where i.inhparent = 'paidonce.objects'::pg_catalog.regclass
        and i.inhrelid = to_regclass(format('paidonce.%I', regexp_replace(projection || 's', 'ys$', 'ies')));
end
$$;

comment on function paidonce.kept_in(text) is
    'Where a projection keeps its objects: the table of its name in the plural and that table''s primary key.';

revoke all on function paidonce.kept_in(text) from public;
call paidonce.only_grant('execute', 'function paidonce.kept_in(text)', variadic '{}');

-- file: functions/snapshot/stated.sql
-- Purpose:   read what is kept of an object, whatever its type.
-- Arguments: object_type, as Stripe names it; object_id (of an entitlement summary: its customer).
-- Returns:   the common columns of its row; no row when it is not kept.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.stated(object_type text, object_id text)
returns setof paidonce.objects
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
    v_kept constant pg_catalog.record := paidonce.kept_in(paidonce.projection_of(null, object_type));
begin
    if v_kept.relation is not null then
        return query execute format('select (o::paidonce.objects).* from %s as o where o.%I = $1', v_kept.relation, v_kept.key) using object_id;
    end if;
end
$$;

comment on function paidonce.stated(text, text) is
    'What is kept of an object, whatever its type.';

revoke all on function paidonce.stated(text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.stated(text, text)', variadic '{}');

-- file: functions/handle_stripe_event.sql
-- Purpose:   take one verified Stripe event and apply its business effect exactly once, however often, in
--            whatever order and from however many connections it arrives. One transaction: claim the event,
--            lock its subject, run the effects, write their outbox rows, log the delivery.
-- Arguments: $1, the event as Stripe sent it. Unnamed, so that PostgREST hands over the whole request body.
--            The kit's own callers may add one top-level key, "paidonce":
--            {"repaired": characters replaced, "source": link|replay, "force": true to run it once more,
--            "patience": how long to wait for a lock instead of 3 s}.
-- Returns:   {"outcome", "event_id", "event_type", "attempt"}, and "error", "sqlstate" when it failed.
--            outcome: processed, duplicate, ignored, parked, failed.
-- Raises:    PO400, not a Stripe event: nothing is written.
--            40001 under any isolation level stricter than read committed.
--            classes 40 and 53, 55P03, 57014: try again; nothing is written.
-- Locks:     the event's row, then all that it will need (see paidonce.lock_set), then what effects of your own lock.
create or replace function public.handle_stripe_event(jsonb)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
set lock_timeout = '3s'
as $$
declare
    v_began   constant pg_catalog.timestamptz := clock_timestamp();
    v_note    constant pg_catalog.jsonb := coalesce($1 -> 'paidonce', '{}');
    v_event   constant pg_catalog.jsonb := case when v_note = '{}' then $1 else $1 - 'paidonce' end;
    v_is      pg_catalog.record;
    v_admit   pg_catalog.record;
    v_outcome pg_catalog.text;
    v_attempt integer;
    v_sqlstate pg_catalog.text;
    v_error   pg_catalog.text;
    v_context pg_catalog.text;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform paidonce.require_read_committed();
    end if;
    if v_note ? 'patience' then
        perform set_config('lock_timeout', v_note ->> 'patience', true); -- ends with this function
    end if;
    v_is := paidonce.read_event(v_event);
    v_admit := paidonce.admit(v_is.type, v_is.livemode, v_is.account);
    v_error := v_admit.refusal;
    v_outcome := case when v_error is null then 'processed' else 'ignored' end;

    -- The claim. A twin in flight makes this wait; when that twin commits there is nothing left to claim,
    -- when it rolls back the row is ours. The row says 'processed' from here on because nobody sees it
    -- before the commit, and what follows corrects it wherever that does not come true.
    insert into paidonce.events as e (
        event_id, event_type, object_id, customer_id, account, livemode, api_version, created,
        status, error, processed_at, received_at, repaired, payload
    ) values (
        v_is.id, v_is.type, v_is.object_id, v_is.customer_id, v_is.account, v_is.livemode, v_is.api_version, v_is.created,
        v_outcome, v_error, case when v_error is null then v_began end, v_began,
        coalesce((v_note ->> 'repaired')::integer, 0), v_event
    )
    on conflict (event_id) do update
    set status = excluded.status, error = excluded.error, processed_at = excluded.processed_at,
        sqlstate = null, context = null, attempts = e.attempts + 1
    where e.status in ('failed', 'parked')
        or (e.status = 'ignored' and excluded.status = 'processed')
        or (v_note -> 'force' = 'true')
    returning e.attempts into v_attempt;

    if v_attempt is null then
        v_outcome := 'duplicate';
        v_error := null;
        select e.attempts into v_attempt from paidonce.events as e where e.event_id = v_is.id;
    end if;

    if v_outcome = 'processed' then
        -- Outside the inner block: a parked event keeps its customer locked until it is committed, so that
        -- whoever links the customer either is seen by it or sees it.
        perform paidonce.lock_event(v_event, v_is.object, v_is.customer_id, v_admit.metadata_key);

        -- An effect that raises is undone to the last row, together with every other effect of the event,
        -- while the event's row survives and tells why.
        begin
            perform paidonce.project_event(v_event);
            if v_admit.handlers <> '{}' then
                perform paidonce.run_handlers(v_admit.handlers, v_event);
            end if;
        exception
            when transaction_rollback or lock_not_available or insufficient_resources then
                raise; -- not the effect's fault: commit nothing, the caller tries again
            when sqlstate 'PO404' then
                v_outcome := 'parked';
                get stacked diagnostics v_error = message_text, v_sqlstate = returned_sqlstate;
            when assert_failure or others then
                v_outcome := 'failed';
                get stacked diagnostics v_error = message_text, v_sqlstate = returned_sqlstate,
                    v_context = pg_exception_context;
        end;

        if v_outcome <> 'processed' then
            update paidonce.events as e
            set status = v_outcome, processed_at = null, sqlstate = v_sqlstate, error = v_error, context = v_context
            where e.event_id = v_is.id;
        end if;
    end if;

    insert into paidonce.deliveries (event_id, received_at, outcome, source, error, duration_ms)
    values (
        v_is.id, v_began, v_outcome, coalesce(v_note ->> 'source', 'webhook'), v_error,
        extract(epoch from clock_timestamp() - v_began) * 1000
    );

    return jsonb_build_object(
        'outcome', v_outcome, 'event_id', v_is.id, 'event_type', v_is.type, 'attempt', v_attempt
    ) || case v_outcome
        when 'failed' then jsonb_build_object('error', v_error, 'sqlstate', v_sqlstate)
        else '{}'
    end;
end
$$;

comment on function public.handle_stripe_event(jsonb) is
    'Takes one verified Stripe event and applies its effect exactly once. Returns outcome, event_id, event_type and attempt.';

revoke all on function public.handle_stripe_event(jsonb) from public;
call paidonce.only_grant('execute', 'function public.handle_stripe_event(jsonb)', 'service_role', 'paidonce_edge');

-- file: sql/views/10_subscription_access.sql
-- Which subscriptions grant access, and why the others do not. The one place where that is decided.

create or replace view paidonce.subscription_access with (security_invoker = true) as
select
    s.subscription_id,
    s.customer_id,
    c.user_id,
    s.status,
    s.cancel_at as until,
    r.refusal,
    r.refusal is null as grants
from paidonce.subscriptions as s
join paidonce.customers as c on c.customer_id = s.customer_id
cross join paidonce.settings as t
cross join lateral (
    select case
        when c.deleted then 'its customer was deleted'
        when s.ended_at <= now() then 'it has ended'
        when s.status <> all (t.access_statuses) then 'its status is ' || s.status
        when s.pause_behavior = 'void' then 'collection is paused and invoices are voided'
        when s.cancel_at <= now() then 'its scheduled end has passed'
    end as refusal
) as r;

comment on view paidonce.subscription_access is 'Every subscription with whether it grants access, and if not, why.';
comment on column paidonce.subscription_access.subscription_id is 'The subscription.';
comment on column paidonce.subscription_access.customer_id is 'Its customer.';
comment on column paidonce.subscription_access.user_id is 'The customer''s user; null while it is not linked.';
comment on column paidonce.subscription_access.status is 'Stripe''s status.';
comment on column paidonce.subscription_access.until is 'Scheduled end of access (UTC); null when none is scheduled.';
comment on column paidonce.subscription_access.refusal is 'Why it grants nothing; null when it grants.';
comment on column paidonce.subscription_access.grants is 'Whether it grants access.';
call paidonce.only_grant('select', 'table paidonce.subscription_access', 'authenticated', 'service_role');

-- file: sql/views/20_item_features.sql
-- Which features the items of a subscription stand for.

create or replace view paidonce.item_features with (security_invoker = true) as
select i.subscription_id, i.item_id, i.price_id, f.feature
from paidonce.subscription_items as i
left join paidonce.prices as p on p.price_id = i.price_id
left join paidonce.products as o on o.product_id = coalesce(i.product_id, p.product_id)
cross join lateral (
    select coalesce(p.lookup_key, i.lookup_key) as feature
    union
    select unnest(o.features)
    union
    select g.feature from paidonce.price_grants as g where g.price_id = i.price_id
) as f
where f.feature is not null;

comment on view paidonce.item_features is 'The features of every subscription item: the price''s lookup_key, its product''s metadata, the mapping table.';
comment on column paidonce.item_features.subscription_id is 'The subscription.';
comment on column paidonce.item_features.item_id is 'The item.';
comment on column paidonce.item_features.price_id is 'Its price.';
comment on column paidonce.item_features.feature is 'A feature it stands for.';
call paidonce.only_grant('select', 'table paidonce.item_features', 'authenticated', 'service_role');

-- file: sql/views/30_entitlements.sql
-- Who has what now: the union over all subscriptions of all customers of a user, and Stripe's own entitlements.

create or replace view paidonce.entitlements with (security_invoker = true) as
select a.user_id, a.customer_id, f.feature, a.subscription_id, a.until
from paidonce.subscription_access as a
join paidonce.item_features as f on f.subscription_id = a.subscription_id
where a.grants and a.user_id is not null
union
select c.user_id, c.customer_id, f.feature, null, null
from paidonce.entitlement_summaries as e
join paidonce.customers as c on c.customer_id = e.customer_id
cross join lateral unnest(e.features) as f (feature)
where c.user_id is not null and not c.deleted;

comment on view paidonce.entitlements is 'Who has which feature now, through which subscription. Signed-in users see their own.';
comment on column paidonce.entitlements.user_id is 'The user.';
comment on column paidonce.entitlements.customer_id is 'The customer through which.';
comment on column paidonce.entitlements.feature is 'The feature.';
comment on column paidonce.entitlements.subscription_id is 'The subscription that grants it; null where Stripe''s entitlement summary does.';
comment on column paidonce.entitlements.until is 'Scheduled end of it (UTC); null when none is scheduled.';
call paidonce.only_grant('select', 'table paidonce.entitlements', 'authenticated', 'service_role');

-- file: sql/views/40_credit_balances.sql
-- What is left of the credits.

create or replace view paidonce.credit_balances with (security_invoker = true) as
select e.user_id, e.customer_id, sum(e.amount)::bigint as balance
from paidonce.credit_entries as e
group by e.user_id, e.customer_id;

comment on view paidonce.credit_balances is 'The balance of credits per user and customer: the sum of the ledger. Signed-in users see their own.';
comment on column paidonce.credit_balances.user_id is 'The user; the sum over the user''s rows is what can be spent.';
comment on column paidonce.credit_balances.customer_id is 'The customer through which they came; null for guests.';
comment on column paidonce.credit_balances.balance is 'Credits left.';
call paidonce.only_grant('select', 'table paidonce.credit_balances', 'authenticated', 'service_role');

-- file: sql/views/50_purchases.sql
-- What the ledger must say of each purchase, from facts alone. paidonce.settle_purchase writes the difference and
-- paidonce.audit compares: both read it here.

create or replace view paidonce.credit_targets with (security_invoker = true) as
select
    p.purchase_id,
    p.customer_id,
    case when p.customer_id is null then coalesce(session.user_id, intent.user_id) else c.user_id end as user_id, -- guests name theirs
    bought.granted,
    case
        when refunded.amount + disputed.amount <= 0 then 0
        when paid.amount is null then bought.granted
        else round(bought.granted * least(1, (refunded.amount + disputed.amount) / paid.amount))::bigint
    end as reversed,
    entered.grants as entered_grants,
    entered.total as entered,
    refunded.amount as refunded_amount,
    disputed.amount as disputed_amount,
    p.known or intent.priced as known
from (
    select o.purchase_id, min(o.customer_id) as customer_id, array_agg(o.object_id) as ids,
        bool_or(n.invoice_id is not null or s.invoice_id is not null) as has_invoice, bool_or(o.kind = 'session') as has_session,
        bool_or(o.kind in ('invoice', 'session') or o.link_known) as known
    from paidonce.purchase_objects as o
    -- An invoice counts once it is kept, or once its session names it: a mere id takes nothing back.
    left join paidonce.invoices as n on n.invoice_id = o.object_id
    left join paidonce.checkout_sessions as s on s.session_id = o.object_id
    group by o.purchase_id
) as p
left join paidonce.customers as c on c.customer_id = p.customer_id
-- An invoice says what was bought by its lines; a trial's line of nothing bought nothing, a discounted one still did.
cross join lateral (
    select coalesce(sum(l.credits), 0) as credits, sum(n.amount_paid) as paid
    from paidonce.invoices as n
    left join lateral (
        select sum(i.credits::numeric * greatest(coalesce(i.quantity, 1), 0)) as credits
        from paidonce.invoice_lines as i
        where i.invoice_id = n.invoice_id and not i.proration
            and coalesce(i.amount, 1) > 0
            and (coalesce(n.amount_paid, 1) > 0 or coalesce(n.subtotal, 0) > 0)
    ) as l on true
    where n.invoice_id = any (p.ids) and n.status = 'paid'
) as invoice
cross join lateral (
    select coalesce(sum(s.credits) filter (where paid.yes), 0) as credits, sum(s.amount_total) filter (where paid.yes) as paid,
        min(s.user_id) as user_id
    from paidonce.checkout_sessions as s
    cross join lateral (
        select s.payment_status in ('paid', 'no_payment_required') and coalesce(s.mode, 'payment') = 'payment' as yes
    ) as paid
    where s.session_id = any (p.ids)
) as session
cross join lateral (
    select coalesce(sum(y.credits) filter (where y.status = 'succeeded'), 0) as credits,
        sum(y.amount_paid) filter (where y.status = 'succeeded') as paid, min(y.user_id) as user_id,
        coalesce(bool_or(y.credits is not null), false) as priced
    from paidonce.payments as y
    where y.payment_id = any (p.ids) and y.kind = 'payment_intent'
) as intent
cross join lateral (
    select sum(coalesce(y.amount_paid, y.amount)) as paid
    from paidonce.payments as y
    where y.payment_id = any (p.ids) and y.kind = 'charge'
) as charge
cross join lateral (
    select case when p.has_invoice then invoice.credits when p.has_session then session.credits else intent.credits end::bigint as granted
) as bought
cross join lateral (
    select coalesce(
        nullif(case when p.has_invoice then invoice.paid when p.has_session then session.paid else intent.paid end, 0),
        nullif(intent.paid, 0), nullif(charge.paid, 0)
    )::numeric as amount
) as paid
-- A charge's amount_refunded counts all its refunds up to its time; refunds known one by one may be later, and
-- one that failed after the charge was stated is still counted there.
cross join lateral (
    select coalesce(sum(greatest(r.good, r.stated)), 0) + greatest(0, coalesce((
        -- Refunds that name no charge may be what a charge counts beyond the refunds that name it.
        select sum(u.amount) from paidonce.refunds as u
        where u.charge_id is null and u.payment_intent_id = any (p.ids) and coalesce(u.status, '') not in ('failed', 'canceled')
    ), 0) - coalesce(sum(greatest(r.stated - r.good, 0)), 0)) as amount
    from unnest(p.ids) as i (object_id)
    left join paidonce.payments as y on y.payment_id = i.object_id and y.kind = 'charge'
    cross join lateral (
        select coalesce(sum(u.amount) filter (where coalesce(u.status, '') not in ('failed', 'canceled')), 0) as good,
            coalesce(y.amount_refunded, 0)
                - coalesce(sum(u.amount) filter (where u.status in ('failed', 'canceled') and u.as_of > y.as_of), 0) as stated
        from paidonce.refunds as u
        where u.charge_id = i.object_id
    ) as r
) as refunded
cross join lateral (
    select coalesce(sum(d.amount), 0) as amount
    from paidonce.disputes as d
    where (d.charge_id = any (p.ids) or (d.charge_id is null and d.payment_intent_id = any (p.ids)))
        and d.status in ('needs_response', 'under_review', 'lost')
) as disputed
cross join lateral (
    select coalesce(sum(e.amount) filter (where e.kind = 'grant'), 0)::bigint as grants, coalesce(sum(e.amount), 0)::bigint as total
    from paidonce.credit_entries as e
    where e.purchase_id = any (p.ids)
) as entered;

comment on view paidonce.credit_targets is 'What the ledger must say of each purchase, from facts alone, beside what it says.';
comment on column paidonce.credit_targets.purchase_id is 'The purchase.';
comment on column paidonce.credit_targets.customer_id is 'Its customer; null for guests or while it is unknown.';
comment on column paidonce.credit_targets.user_id is 'Whose credits it brings; null while that is unknown.';
comment on column paidonce.credit_targets.granted is 'Credits bought, in all.';
comment on column paidonce.credit_targets.reversed is 'Of those, taken back by refunds and by open or lost disputes.';
comment on column paidonce.credit_targets.entered_grants is 'Sum of the ledger''s grants for it.';
comment on column paidonce.credit_targets.entered is 'Sum of all the ledger''s entries for it.';
comment on column paidonce.credit_targets.refunded_amount is 'Refunded so far, in minor units.';
comment on column paidonce.credit_targets.disputed_amount is 'In open or lost disputes, in minor units.';
comment on column paidonce.credit_targets.known is 'Whether it is known what was bought: false while only payments are known and none of them says if there is an invoice.';
call paidonce.only_grant('select', 'table paidonce.credit_targets', variadic '{}');

-- file: sql/views/60_audit.sql
-- What does not add up. No row while everything does.

create or replace view paidonce.audit with (security_invoker = true) as
select 'event_failed' as check_name, e.event_id as subject, format('%s failed: %s (%s)', e.event_type, e.error, e.sqlstate) as detail
from paidonce.events as e
where e.status = 'failed'
union all
select 'parked_though_linked', e.event_id, format('%s waits for a user, but customer %s has one', e.event_type, e.customer_id)
from paidonce.events as e
join paidonce.customers as c on c.customer_id = e.customer_id
where e.status = 'parked' and e.sqlstate = 'PO404' and c.user_id is not null
union all
select 'event_without_effect', e.event_id, format('%s is processed, but %s %s is not there', e.event_type, t.projection, e.object_id)
from (
    select d.event_type, p.projection
    from (select distinct e.event_type from paidonce.events as e) as d
    cross join lateral (select paidonce.projection_of(d.event_type) as projection) as p
    cross join lateral paidonce.kept_in(p.projection) as k
    where k.relation is not null
) as t
join paidonce.events as e on e.event_type = t.event_type
where e.status = 'processed' and e.object_id is not null
    and not exists (select from paidonce.objects as o where o.data ->> 'id' = e.object_id)
union all
select 'effect_without_event', coalesce(o.data ->> 'id', o.data ->> 'customer'),
    format('its row in %s says it comes from %s, which is not a processed event', o.tableoid::regclass, o.source_event)
from paidonce.objects as o
where o.source_event is not null
    and not exists (select from paidonce.events as e where e.event_id = o.source_event and e.status = 'processed')
union all
select 'effect_without_event', 'credit entry ' || c.entry_id, format('it says it comes from %s, which is not a processed event', c.event_id)
from paidonce.credit_entries as c
where c.event_id is not null
    and not exists (select from paidonce.events as e where e.event_id = c.event_id and e.status = 'processed')
union all
select 'effect_without_event', 'outbox row ' || o.id, format('it says it comes from %s, which is not a processed event', o.event_id)
from paidonce.outbox as o
where o.event_id is not null
    and not exists (select from paidonce.events as e where e.event_id = o.event_id and e.status = 'processed')
union all
select 'credits_do_not_add_up', t.purchase_id,
    format('the ledger says %s, payments, refunds and disputes say %s', t.entered, t.granted - t.reversed)
from paidonce.credit_targets as t
where t.user_id is not null and t.entered <> t.granted - t.reversed
union all
select 'credits_not_granted', l.invoice_id,
    format('line %s is paid and its price %s is known, but its credits were never fixed', l.line_id, l.price_id)
from paidonce.invoice_lines as l
join paidonce.invoices as n on n.invoice_id = l.invoice_id
where n.status = 'paid' and l.credits is null and l.price_id is not null
    and paidonce.credits_of_price(l.price_id, l.product_id, l.price_stated, l.stated_credits) is not null
union all
select 'credits_of_no_purchase', 'credit entry ' || c.entry_id, format('it is for %s, which is not a purchase', coalesce(c.purchase_id, 'nothing'))
from paidonce.credit_entries as c
where c.kind <> 'spend' and not exists (select from paidonce.purchase_objects as o where o.object_id = c.purchase_id)
union all
select 'balance_below_what_was_spent', u.user_id, format('the balance is %s, spent were only %s', u.balance, u.spent)
from (
    select c.user_id, sum(c.amount) as balance, -coalesce(sum(c.amount) filter (where c.kind = 'spend'), 0) as spent
    from paidonce.credit_entries as c
    group by c.user_id
) as u
where u.balance < -u.spent
union all
select 'reversal_without_purchase', t.purchase_id,
    format('%s is refunded or disputed, but no event has said yet what it paid for', t.refunded_amount + t.disputed_amount)
from paidonce.credit_targets as t
where not t.known and t.refunded_amount + t.disputed_amount > 0
union all
select 'due_and_not_done', d.kind || ' ' || d.subject,
    format('due since %s, tried %s times%s: is a worker running?', d.marked_at, d.attempts, coalesce(' (' || d.error || ')', ''))
from paidonce.due_work as d
-- A row of the mapping table is looked into in any case, and mostly nothing waited for it.
where d.kind not in ('price', 'product') or d.marked_at < now() - interval '1 minute'
union all
select 'link_contradicted', l.customer_id, format('it belongs to %s, but %s named %s', c.user_id, coalesce(l.event_id, 'a person'), l.user_id)
from paidonce.link_conflicts as l
left join paidonce.customers as c on c.customer_id = l.customer_id
where c.user_id is distinct from l.user_id;

comment on view paidonce.audit is 'What does not add up: events without effects, effects without events, credits that do not match payments, contradicted links. No row while everything adds up.';
comment on column paidonce.audit.check_name is 'Which check found it.';
comment on column paidonce.audit.subject is 'Id of what it found.';
comment on column paidonce.audit.detail is 'What is wrong with it, in a sentence.';
call paidonce.only_grant('select', 'table paidonce.audit', variadic '{}');

-- file: sql/views/90_triggers.sql
-- Triggers stand last, since they name functions.

create or replace trigger price_grants_changed
after insert or update of credits, price_id on paidonce.price_grants
for each row execute function paidonce.price_grants_changed();

-- step: end
reset check_function_bodies;
