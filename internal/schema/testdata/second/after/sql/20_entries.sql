create table if not exists paidonce.entries (
    account_id text not null references paidonce.accounts,
    entry integer not null,
    constraint entries_pkey primary key (account_id, entry)
);
