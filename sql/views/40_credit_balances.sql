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
