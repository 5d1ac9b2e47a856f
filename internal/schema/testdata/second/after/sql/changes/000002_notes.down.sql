alter table paidonce.accounts
    alter column opened type integer,
    drop column if exists note;
