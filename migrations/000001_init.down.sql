-- Migration 000001_init, down. Built by `make migrations`: edit sql/ and functions/ instead.

-- step: drop functions, views, policies
drop trigger if exists price_grants_changed on paidonce.price_grants;
drop view if exists paidonce.audit;
drop view if exists paidonce.credit_targets;
drop view if exists paidonce.credit_balances;
drop view if exists paidonce.entitlements;
drop view if exists paidonce.item_features;
drop view if exists paidonce.subscription_access;
drop function if exists public.handle_stripe_event(jsonb);
drop function if exists paidonce.stated(object_type text, object_id text);
drop function if exists paidonce.kept_in(projection text, out relation regclass, out key name);
drop function if exists paidonce.generation_of(object_type text, object_id text);
drop function if exists paidonce.apply_snapshot(object jsonb, observed_at timestamptz, generation bigint);
drop function if exists paidonce.read_time(value jsonb);
drop function if exists paidonce.read_subscription_items(object jsonb);
drop function if exists paidonce.read_subscription(object jsonb, out customer_id text, out status text, out created timestamptz, out current_period_start timestamptz, out current_period_end timestamptz, out trial_end timestamptz, out cancel_at timestamptz, out canceled_at timestamptz, out ended_at timestamptz, out pause_behavior text);
drop function if exists paidonce.read_refund(object jsonb, out charge_id text, out payment_intent_id text, out amount bigint, out currency text, out status text, out created timestamptz, out payment_ids text[]);
drop function if exists paidonce.read_product(object jsonb, out active boolean, out name text, out features text[], out credits bigint);
drop function if exists paidonce.read_price(object jsonb, out active boolean, out product_id text, out lookup_key text, out unit_amount bigint, out currency text, out recurring_interval text, out credits bigint);
drop function if exists paidonce.read_payment_ids(object jsonb);
drop function if exists paidonce.read_payment(object jsonb, user_key text, out kind text, out customer_id text, out invoice_id text, out status text, out amount bigint, out amount_paid bigint, out amount_refunded bigint, out currency text, out user_id text, out credits bigint, out created timestamptz, out payment_ids text[]);
drop function if exists paidonce.read_object_id(object jsonb);
drop function if exists paidonce.read_object(event jsonb);
drop function if exists paidonce.read_metadata(object jsonb, key text);
drop function if exists paidonce.read_invoice_status(object jsonb);
drop function if exists paidonce.read_invoice_payment(object jsonb, out invoice_id text, out status text, out payment_ids text[]);
drop function if exists paidonce.read_invoice_lines(object jsonb);
drop function if exists paidonce.read_invoice(object jsonb, out customer_id text, out subscription_id text, out status text, out billing_reason text, out subtotal bigint, out total bigint, out amount_due bigint, out amount_paid bigint, out currency text, out period_start timestamptz, out period_end timestamptz, out created timestamptz, out payment_ids text[]);
drop function if exists paidonce.read_integer(value jsonb);
drop function if exists paidonce.read_flag(value jsonb);
drop function if exists paidonce.read_event_id(event jsonb);
drop function if exists paidonce.read_entitlement_summary(object jsonb, out features text[], out complete boolean);
drop function if exists paidonce.read_dispute(object jsonb, out charge_id text, out payment_intent_id text, out amount bigint, out currency text, out status text, out created timestamptz, out reason text, out payment_ids text[]);
drop function if exists paidonce.read_customer_id(object jsonb);
drop function if exists paidonce.read_customer(object jsonb, out email text, out name text);
drop function if exists paidonce.read_checkout_session(object jsonb, user_key text, out customer_id text, out user_id text, out mode text, out status text, out payment_status text, out invoice_id text, out amount_total bigint, out currency text, out credits bigint, out created timestamptz);
drop function if exists paidonce.read_account(event jsonb);
drop function if exists paidonce.replace_subscription_items(subscription_id text, object jsonb);
drop function if exists paidonce.replace_invoice_lines(invoice_id text, object jsonb);
drop function if exists paidonce.projection_of_object(object_type text);
drop function if exists paidonce.projection_of(event_type text, object_type text);
drop function if exists paidonce.project_thin_event(event jsonb);
drop function if exists paidonce.project_subscription(event jsonb);
drop function if exists paidonce.project_refund(event jsonb);
drop function if exists paidonce.project_product(event jsonb);
drop function if exists paidonce.project_price(event jsonb);
drop function if exists paidonce.project_payment(event jsonb);
drop function if exists paidonce.project_invoice_payment_list(event jsonb);
drop function if exists paidonce.project_invoice_payment(event jsonb);
drop function if exists paidonce.project_invoice(event jsonb);
drop function if exists paidonce.project_event(event jsonb);
drop function if exists paidonce.project_entitlement_summary(event jsonb);
drop function if exists paidonce.project_dispute(event jsonb);
drop function if exists paidonce.project_customer(event jsonb);
drop function if exists paidonce.project_checkout_session(event jsonb);
drop function if exists paidonce.settle_outbox(results jsonb);
drop function if exists paidonce.requeue_outbox(id bigint, force boolean);
drop function if exists paidonce.request_refetch(event jsonb, object_type text, object_id text);
drop function if exists paidonce.prune_outbox(older_than interval, max_rows integer);
drop function if exists paidonce.outbox_backlog();
drop function if exists paidonce.notify_outbox();
drop function if exists paidonce.enqueue_once(idempotency_key text, event jsonb, action text, payload jsonb);
drop function if exists paidonce.enqueue(event jsonb, action text, payload jsonb, discriminator text);
drop function if exists paidonce.claim_outbox(max_rows integer, lease interval, actions text[]);
drop function if exists paidonce.rank_of(event_type text, object jsonb, status text);
drop function if exists paidonce.latest_of(event_ids text[], out event_id text, out undecided boolean);
drop function if exists paidonce.keep(event jsonb, kept paidonce.objects);
drop function if exists paidonce.is_final(event_type text, object jsonb, status text);
drop function if exists paidonce.run_parked(customer_id text);
drop function if exists paidonce.link_from_metadata(event jsonb, object jsonb, customer_id text);
drop function if exists paidonce.link_customer(customer_id text, user_id text);
drop function if exists paidonce.link(customer_id text, user_id text, event_id text);
drop function if exists paidonce.run_handlers(handlers text[], event jsonb);
drop function if exists paidonce.on(event_type text, handler regprocedure);
drop function if exists paidonce.off(event_type text, handler regprocedure);
drop function if exists paidonce.handlers_for(event_type text);
drop function if exists paidonce.require_read_committed();
drop function if exists paidonce.replay(event_id text, force boolean);
drop function if exists paidonce.lock_subject(event jsonb);
drop function if exists paidonce.ignore_reason(event jsonb, handlers text[]);
drop function if exists paidonce.spend_credits(user_id text, amount bigint, key text);
drop function if exists paidonce.settle_purchase(object_id text, event jsonb);
drop function if exists paidonce.settle_customer(customer_id text, event jsonb);
drop function if exists paidonce.resolve_lines(event jsonb, price_id text);
drop function if exists paidonce.request_purchase_link(event jsonb, object_id text);
drop function if exists paidonce.price_grants_changed();
drop function if exists paidonce.join_purchase(customer_id text, session_id text, invoice_id text, payment_ids text[]);
drop function if exists paidonce.fix_line_credits(purchase_id text, event jsonb);
drop function if exists paidonce.enter_credits(customer_id text, user_id text, amount bigint, kind text, purchase_id text, event jsonb);
drop function if exists paidonce.credits_of_price(price_id text, product_id text, stated boolean, stated_credits bigint);
drop function if exists paidonce.why_access(user_id text, feature text);
drop function if exists paidonce.has_access(feature text);
drop policy if exists "users read their own credits" on paidonce.credit_entries;
drop policy if exists "users read their own entitlement summaries" on paidonce.entitlement_summaries;
drop policy if exists "only the owner reads disputes" on paidonce.disputes;
drop policy if exists "only the owner reads refunds" on paidonce.refunds;
drop policy if exists "only the owner reads purchases" on paidonce.purchase_objects;
drop policy if exists "only the owner reads payments" on paidonce.payments;
drop policy if exists "users read the lines of their own invoices" on paidonce.invoice_lines;
drop policy if exists "users read their own invoices" on paidonce.invoices;
drop policy if exists "only the owner reads checkout sessions" on paidonce.checkout_sessions;
drop policy if exists "users read what their own prices grant" on paidonce.price_grants;
drop policy if exists "users read their own subscription items" on paidonce.subscription_items;
drop policy if exists "users read their own subscriptions" on paidonce.subscriptions;
drop policy if exists "only the owner reads link conflicts" on paidonce.link_conflicts;
drop policy if exists "users read their own customers" on paidonce.customers;
drop policy if exists "only the owner reads objects" on paidonce.objects;
drop policy if exists "only the owner reads the outbox" on paidonce.outbox;
drop policy if exists "only the owner reads handlers" on paidonce.handlers;
drop policy if exists "only the owner reads deliveries" on paidonce.deliveries;
drop policy if exists "only the owner reads events" on paidonce.events;
drop policy if exists "users read which statuses grant access" on paidonce.settings;

-- step: change sql/changes/000001_init.down.sql
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

-- step: drop tables
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
drop procedure if exists paidonce.finish_objects(relation text);
drop table if exists paidonce.objects;
drop table if exists paidonce.outbox;
drop table if exists paidonce.handlers;
drop table if exists paidonce.deliveries;
drop table if exists paidonce.events;
drop table if exists paidonce.settings;
drop procedure if exists paidonce.read_policy(relation text, role_name text, policy_name text, condition text);
drop procedure if exists paidonce.only_grant(privilege text, object text, variadic grantees text[]);
