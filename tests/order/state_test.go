package order_test

// readState reads everything that must not depend on the order of arrival.
// Left out are numbers and times of arrival, and what names the first of
// several events that asked for the same thing: which event linked a customer,
// asked for a refetch or brought a ledger entry about; and requests for what was
// unknown when it was first missed. The ledger counts by its
// sums: two refunds net as two entries or as one, whichever way they came.
const readState = `
select jsonb_pretty(jsonb_build_object(
    'events', (select jsonb_agg(jsonb_build_array(e.event_id, e.status, e.object_id, e.customer_id) order by e.event_id) from paidonce.events as e),
    'customers', (select jsonb_agg(to_jsonb(c) - '{linked_at,link_event}'::text[] order by c.customer_id) from paidonce.customers as c),
    'subscriptions', (select jsonb_agg(to_jsonb(s) order by s.subscription_id) from paidonce.subscriptions as s),
    'items', (select jsonb_agg(to_jsonb(i) order by i.subscription_id, i.item_id) from paidonce.subscription_items as i),
    'sessions', (select jsonb_agg(to_jsonb(s) order by s.session_id) from paidonce.checkout_sessions as s),
    'invoices', (select jsonb_agg(to_jsonb(n) order by n.invoice_id) from paidonce.invoices as n),
    'lines', (select jsonb_agg(to_jsonb(l) order by l.invoice_id, l.line_id) from paidonce.invoice_lines as l),
    'payments', (select jsonb_agg(to_jsonb(p) order by p.payment_id) from paidonce.payments as p),
    'refunds', (select jsonb_agg(to_jsonb(r) order by r.refund_id) from paidonce.refunds as r),
    'disputes', (select jsonb_agg(to_jsonb(d) order by d.dispute_id) from paidonce.disputes as d),
    'purchases', (select jsonb_agg(to_jsonb(o) order by o.object_id) from paidonce.purchase_objects as o),
    'prices', (select jsonb_agg(to_jsonb(p) order by p.price_id) from paidonce.prices as p),
    'products', (select jsonb_agg(to_jsonb(p) order by p.product_id) from paidonce.products as p),
    'entitlements', (select jsonb_agg(to_jsonb(e) order by e.user_id, e.feature, e.subscription_id) from paidonce.entitlements as e),
    'granted', (select sum(c.amount) from paidonce.credit_entries as c where c.kind = 'grant'),
    'balances', (select jsonb_agg(to_jsonb(b) order by b.user_id, b.customer_id) from paidonce.credit_balances as b),
    'refetches', (select jsonb_agg(o.coalesce_key order by o.coalesce_key) from paidonce.outbox as o where o.payload ->> 'object' = 'subscription'),
    'conflicts', (select jsonb_agg(jsonb_build_array(l.customer_id, l.user_id) order by l.customer_id, l.user_id) from paidonce.link_conflicts as l),
    'audit', (select jsonb_agg(to_jsonb(a) order by a.check_name, a.subject) from paidonce.audit as a)
))`

// deliver hands the events over one after the other, in the given order.
const deliver = `
select public.handle_stripe_event(d.event)
from (select u.event::jsonb as event from unnest($1::text[]) with ordinality as u (event, place) order by u.place) as d`

// forget empties every table that events write.
const forget = `
truncate paidonce.due_work, paidonce.events, paidonce.deliveries, paidonce.customers, paidonce.subscriptions, paidonce.subscription_items,
    paidonce.checkout_sessions, paidonce.invoices, paidonce.invoice_lines, paidonce.payments, paidonce.refunds, paidonce.disputes,
    paidonce.purchase_objects, paidonce.prices, paidonce.products, paidonce.entitlement_summaries, paidonce.credit_entries,
    paidonce.outbox, paidonce.link_conflicts, paidonce.price_grants`
