create table if not exists paidonce.accounts (
    account_id text not null,
    opened integer not null default 0,
    constraint accounts_pkey primary key (account_id)
);
comment on table paidonce.accounts is 'the accounts';
create index if not exists accounts_opened_idx on paidonce.accounts (opened);
alter table paidonce.accounts enable row level security;
drop policy if exists "nobody" on paidonce.accounts;
create policy "nobody" on paidonce.accounts for all to public using (false);
