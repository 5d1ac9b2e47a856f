create or replace view paidonce.open_count with (security_invoker = on) as
select count(*) as accounts from paidonce.open_accounts;
