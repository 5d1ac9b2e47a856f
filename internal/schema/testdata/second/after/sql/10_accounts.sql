create table if not exists paidonce.accounts (
    account_id text not null,
    opened bigint not null default 0,
    note text,
    constraint accounts_pkey primary key (account_id),
    constraint accounts_note_is_short check (length(note) < 100)
);
comment on table paidonce.accounts is 'the accounts, with notes';
create index if not exists accounts_opened_idx on paidonce.accounts (opened, account_id);
create index if not exists accounts_note_idx on paidonce.accounts (note);
alter table paidonce.accounts enable row level security;
drop policy if exists "nobody" on paidonce.accounts;
create policy "nobody" on paidonce.accounts for delete to public using (note is null);
drop policy if exists "noted ones" on paidonce.accounts;
create policy "noted ones" on paidonce.accounts for select to public using (note is not null);
