-- rebuild: sql/views/10_open.sql
-- rebuild: sql/views/20_count.sql
alter table paidonce.accounts
    alter column opened type bigint,
    add column if not exists note text,
    drop constraint if exists accounts_note_is_short,
    add constraint accounts_note_is_short check (length(note) < 100);
