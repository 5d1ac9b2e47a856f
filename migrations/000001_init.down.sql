-- Migration 000001_init, down. Built by `make migrations`: edit sql/ and functions/ instead.

drop trigger if exists price_grants_changed on paidonce.price_grants;
drop view if exists paidonce.audit;
drop view if exists paidonce.credit_targets;
drop view if exists paidonce.credit_balances;
drop view if exists paidonce.entitlements;
drop view if exists paidonce.item_features;
drop view if exists paidonce.subscription_access;
drop function if exists public.handle_stripe_event;
drop function if exists paidonce.stated;
drop function if exists paidonce.kept_in;
drop function if exists paidonce.generation_of;
drop function if exists paidonce.apply_snapshot;
drop function if exists paidonce.read_time;
drop function if exists paidonce.read_subscription_items;
drop function if exists paidonce.read_subscription;
drop function if exists paidonce.read_refund;
drop function if exists paidonce.read_product;
drop function if exists paidonce.read_price;
drop function if exists paidonce.read_payment_ids;
drop function if exists paidonce.read_payment;
drop function if exists paidonce.read_object_id;
drop function if exists paidonce.read_object;
drop function if exists paidonce.read_named_ids;
drop function if exists paidonce.read_metadata;
drop function if exists paidonce.read_line_goods;
drop function if exists paidonce.read_invoice_status;
drop function if exists paidonce.read_invoice_payment;
drop function if exists paidonce.read_invoice_lines;
drop function if exists paidonce.read_invoice;
drop function if exists paidonce.read_integer;
drop function if exists paidonce.read_flag;
drop function if exists paidonce.read_event_id;
drop function if exists paidonce.read_event;
drop function if exists paidonce.read_entitlement_summary;
drop function if exists paidonce.read_dispute;
drop function if exists paidonce.read_customer_id;
drop function if exists paidonce.read_customer;
drop function if exists paidonce.read_checkout_session;
drop function if exists paidonce.read_account;
drop function if exists paidonce.replace_subscription_items;
drop function if exists paidonce.replace_invoice_lines;
drop function if exists paidonce.projection_of;
drop function if exists paidonce.project_thin_event;
drop function if exists paidonce.project_subscription;
drop function if exists paidonce.project_refund;
drop function if exists paidonce.project_product;
drop function if exists paidonce.project_price;
drop function if exists paidonce.project_payment;
drop function if exists paidonce.project_invoice_payment_list;
drop function if exists paidonce.project_invoice_payment;
drop function if exists paidonce.project_invoice;
drop function if exists paidonce.project_event;
drop function if exists paidonce.project_entitlement_summary;
drop function if exists paidonce.project_dispute;
drop function if exists paidonce.project_customer;
drop function if exists paidonce.project_checkout_session;
drop function if exists paidonce.settle_outbox;
drop function if exists paidonce.requeue_outbox;
drop function if exists paidonce.request_refetch;
drop function if exists paidonce.prune_outbox;
drop function if exists paidonce.outbox_backlog;
drop function if exists paidonce.notify_outbox;
drop function if exists paidonce.enqueue_once;
drop function if exists paidonce.enqueue;
drop function if exists paidonce.claim_outbox;
drop function if exists paidonce.rank_of;
drop function if exists paidonce.latest_of;
drop function if exists paidonce.keep;
drop function if exists paidonce.is_final;
drop function if exists paidonce.lock_set_of;
drop function if exists paidonce.lock_set;
drop function if exists paidonce.lock_event;
drop function if exists paidonce.link_from_metadata;
drop function if exists paidonce.link_customer;
drop function if exists paidonce.link;
drop function if exists paidonce.run_handlers;
drop function if exists paidonce.on;
drop function if exists paidonce.off;
drop function if exists paidonce.require_read_committed;
drop function if exists paidonce.replay;
drop function if exists paidonce.admit;
drop function if exists paidonce.wait_for_readers;
drop function if exists paidonce.run_due_items;
drop function if exists paidonce.run_due_item;
drop function if exists paidonce.run_due;
drop function if exists paidonce.put_off;
drop function if exists paidonce.next_due;
drop function if exists paidonce.mark_due;
drop function if exists paidonce.spend_credits;
drop function if exists paidonce.settle_purchase;
drop function if exists paidonce.request_purchase_link;
drop function if exists paidonce.price_grants_changed;
drop function if exists paidonce.join_purchase;
drop function if exists paidonce.fix_line_credits;
drop function if exists paidonce.enter_credits;
drop function if exists paidonce.credits_of_price;
drop function if exists paidonce.why_access;
drop function if exists paidonce.has_access;
drop table if exists paidonce.credit_entries;
drop table if exists paidonce.entitlement_summaries;
drop table if exists paidonce.disputes;
drop table if exists paidonce.refunds;
drop table if exists paidonce.purchase_objects;
drop table if exists paidonce.payments;
drop table if exists paidonce.invoice_lines;
drop table if exists paidonce.invoices;
drop table if exists paidonce.checkout_sessions;
drop table if exists paidonce.price_grants;
drop table if exists paidonce.prices;
drop table if exists paidonce.products;
drop table if exists paidonce.subscription_items;
drop table if exists paidonce.subscriptions;
drop table if exists paidonce.link_conflicts;
drop table if exists paidonce.customers;
drop procedure if exists paidonce.finish_objects;
drop table if exists paidonce.objects;
drop table if exists paidonce.outbox;
drop table if exists paidonce.handlers;
drop table if exists paidonce.due_work;
drop table if exists paidonce.deliveries;
drop table if exists paidonce.events;
drop table if exists paidonce.settings;
drop procedure if exists paidonce.read_policy;
drop procedure if exists paidonce.only_grant;

-- Schema paidonce itself stays, since the table of applied migrations lives in it, and so do the roles,
-- which other databases of the cluster may use. What was granted on the schema goes.
do $$
declare
    v_grantee text;
begin
    for v_grantee in
        select distinct r.rolname
        from pg_catalog.pg_namespace as n
        cross join lateral pg_catalog.aclexplode(n.nspacl) as a
        join pg_catalog.pg_roles as r on r.oid = a.grantee
        where n.nspname = 'paidonce' and a.grantee <> n.nspowner
        order by r.rolname
    loop
        execute pg_catalog.format('revoke all on schema paidonce from %I', v_grantee);
    end loop;
end
$$;
comment on schema paidonce is null;
