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
