create or replace view paidonce.open_accounts with (security_invoker = on) as
select account_id, note, opened from paidonce.accounts where opened > 0;
