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
