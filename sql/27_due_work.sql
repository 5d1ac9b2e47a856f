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
