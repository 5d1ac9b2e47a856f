-- What the ledger must say of each purchase, from facts alone. paidonce.settle_purchase writes the difference and
-- paidonce.audit compares: both read it here.

create or replace view paidonce.credit_targets with (security_invoker = true) as
select
    p.purchase_id,
    p.customer_id,
    case when p.customer_id is null then coalesce(session.user_id, intent.user_id) else c.user_id end as user_id, -- guests name theirs
    bought.granted,
    case
        when refunded.amount + disputed.amount <= 0 then 0
        when paid.amount is null then bought.granted
        else round(bought.granted * least(1, (refunded.amount + disputed.amount) / paid.amount))::bigint
    end as reversed,
    entered.grants as entered_grants,
    entered.total as entered,
    refunded.amount as refunded_amount,
    disputed.amount as disputed_amount,
    p.known or intent.priced as known
from (
    select o.purchase_id, min(o.customer_id) as customer_id, array_agg(o.object_id) as ids,
        bool_or(n.invoice_id is not null or s.invoice_id is not null) as has_invoice, bool_or(o.kind = 'session') as has_session,
        bool_or(o.kind in ('invoice', 'session') or o.link_known) as known
    from paidonce.purchase_objects as o
    -- An invoice counts once it is kept, or once its session names it: a mere id takes nothing back.
    left join paidonce.invoices as n on n.invoice_id = o.object_id
    left join paidonce.checkout_sessions as s on s.session_id = o.object_id
    group by o.purchase_id
) as p
left join paidonce.customers as c on c.customer_id = p.customer_id
-- An invoice says what was bought by its lines; a trial's line of nothing bought nothing, a discounted one still did.
cross join lateral (
    select coalesce(sum(l.credits), 0) as credits, sum(n.amount_paid) as paid
    from paidonce.invoices as n
    left join lateral (
        select sum(i.credits::numeric * greatest(coalesce(i.quantity, 1), 0)) as credits
        from paidonce.invoice_lines as i
        where i.invoice_id = n.invoice_id and not i.proration
            and coalesce(i.amount, 1) > 0
            and (coalesce(n.amount_paid, 1) > 0 or coalesce(n.subtotal, 0) > 0)
    ) as l on true
    where n.invoice_id = any (p.ids) and n.status = 'paid'
) as invoice
cross join lateral (
    select coalesce(sum(s.credits) filter (where paid.yes), 0) as credits, sum(s.amount_total) filter (where paid.yes) as paid,
        min(s.user_id) as user_id
    from paidonce.checkout_sessions as s
    cross join lateral (
        select s.payment_status in ('paid', 'no_payment_required') and coalesce(s.mode, 'payment') = 'payment' as yes
    ) as paid
    where s.session_id = any (p.ids)
) as session
cross join lateral (
    select coalesce(sum(y.credits) filter (where y.status = 'succeeded'), 0) as credits,
        sum(y.amount_paid) filter (where y.status = 'succeeded') as paid, min(y.user_id) as user_id,
        coalesce(bool_or(y.credits is not null), false) as priced
    from paidonce.payments as y
    where y.payment_id = any (p.ids) and y.kind = 'payment_intent'
) as intent
cross join lateral (
    select sum(coalesce(y.amount_paid, y.amount)) as paid
    from paidonce.payments as y
    where y.payment_id = any (p.ids) and y.kind = 'charge'
) as charge
cross join lateral (
    select case when p.has_invoice then invoice.credits when p.has_session then session.credits else intent.credits end::bigint as granted
) as bought
cross join lateral (
    select coalesce(
        nullif(case when p.has_invoice then invoice.paid when p.has_session then session.paid else intent.paid end, 0),
        nullif(intent.paid, 0), nullif(charge.paid, 0)
    )::numeric as amount
) as paid
-- A charge's amount_refunded counts all its refunds up to its time; refunds known one by one may be later, and
-- one that failed after the charge was stated is still counted there.
cross join lateral (
    select coalesce(sum(greatest(r.good, r.stated)), 0) + greatest(0, coalesce((
        -- Refunds that name no charge may be what a charge counts beyond the refunds that name it.
        select sum(u.amount) from paidonce.refunds as u
        where u.charge_id is null and u.payment_intent_id = any (p.ids) and coalesce(u.status, '') not in ('failed', 'canceled')
    ), 0) - coalesce(sum(greatest(r.stated - r.good, 0)), 0)) as amount
    from unnest(p.ids) as i (object_id)
    left join paidonce.payments as y on y.payment_id = i.object_id and y.kind = 'charge'
    cross join lateral (
        select coalesce(sum(u.amount) filter (where coalesce(u.status, '') not in ('failed', 'canceled')), 0) as good,
            coalesce(y.amount_refunded, 0)
                - coalesce(sum(u.amount) filter (where u.status in ('failed', 'canceled') and u.as_of > y.as_of), 0) as stated
        from paidonce.refunds as u
        where u.charge_id = i.object_id
    ) as r
) as refunded
cross join lateral (
    select coalesce(sum(d.amount), 0) as amount
    from paidonce.disputes as d
    where (d.charge_id = any (p.ids) or (d.charge_id is null and d.payment_intent_id = any (p.ids)))
        and d.status in ('needs_response', 'under_review', 'lost')
) as disputed
cross join lateral (
    select coalesce(sum(e.amount) filter (where e.kind = 'grant'), 0)::bigint as grants, coalesce(sum(e.amount), 0)::bigint as total
    from paidonce.credit_entries as e
    where e.purchase_id = any (p.ids)
) as entered;

comment on view paidonce.credit_targets is 'What the ledger must say of each purchase, from facts alone, beside what it says.';
comment on column paidonce.credit_targets.purchase_id is 'The purchase.';
comment on column paidonce.credit_targets.customer_id is 'Its customer; null for guests or while it is unknown.';
comment on column paidonce.credit_targets.user_id is 'Whose credits it brings; null while that is unknown.';
comment on column paidonce.credit_targets.granted is 'Credits bought, in all.';
comment on column paidonce.credit_targets.reversed is 'Of those, taken back by refunds and by open or lost disputes.';
comment on column paidonce.credit_targets.entered_grants is 'Sum of the ledger''s grants for it.';
comment on column paidonce.credit_targets.entered is 'Sum of all the ledger''s entries for it.';
comment on column paidonce.credit_targets.refunded_amount is 'Refunded so far, in minor units.';
comment on column paidonce.credit_targets.disputed_amount is 'In open or lost disputes, in minor units.';
comment on column paidonce.credit_targets.known is 'Whether it is known what was bought: false while only payments are known and none of them says if there is an invoice.';
call paidonce.only_grant('select', 'table paidonce.credit_targets', variadic '{}');
