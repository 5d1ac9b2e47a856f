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
