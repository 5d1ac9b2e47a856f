-- What does not add up. No row while everything does.

create or replace view paidonce.audit with (security_invoker = true) as
select 'event_failed' as check_name, e.event_id as subject, format('%s failed: %s (%s)', e.event_type, e.error, e.sqlstate) as detail
from paidonce.events as e
where e.status = 'failed'
union all
select 'parked_though_linked', e.event_id, format('%s waits for a user, but customer %s has one', e.event_type, e.customer_id)
from paidonce.events as e
join paidonce.customers as c on c.customer_id = e.customer_id
where e.status = 'parked' and e.sqlstate = 'PO404' and c.user_id is not null
union all
select 'event_without_effect', e.event_id, format('%s is processed, but %s %s is not there', e.event_type, t.projection, e.object_id)
from (
    select d.event_type, p.projection
    from (select distinct e.event_type from paidonce.events as e) as d
    cross join lateral (select paidonce.projection_of(d.event_type) as projection) as p
    cross join lateral paidonce.kept_in(p.projection) as k
    where k.relation is not null
) as t
join paidonce.events as e on e.event_type = t.event_type
where e.status = 'processed' and e.object_id is not null
    and not exists (select from paidonce.objects as o where o.data ->> 'id' = e.object_id)
union all
select 'effect_without_event', coalesce(o.data ->> 'id', o.data ->> 'customer'),
    format('its row in %s says it comes from %s, which is not a processed event', o.tableoid::regclass, o.source_event)
from paidonce.objects as o
where o.source_event is not null
    and not exists (select from paidonce.events as e where e.event_id = o.source_event and e.status = 'processed')
union all
select 'effect_without_event', 'credit entry ' || c.entry_id, format('it says it comes from %s, which is not a processed event', c.event_id)
from paidonce.credit_entries as c
where c.event_id is not null
    and not exists (select from paidonce.events as e where e.event_id = c.event_id and e.status = 'processed')
union all
select 'effect_without_event', 'outbox row ' || o.id, format('it says it comes from %s, which is not a processed event', o.event_id)
from paidonce.outbox as o
where o.event_id is not null
    and not exists (select from paidonce.events as e where e.event_id = o.event_id and e.status = 'processed')
union all
select 'credits_do_not_add_up', t.purchase_id,
    format('the ledger says %s, payments, refunds and disputes say %s', t.entered, t.granted - t.reversed)
from paidonce.credit_targets as t
where t.user_id is not null and t.entered <> t.granted - t.reversed
union all
select 'credits_not_granted', l.invoice_id,
    format('line %s is paid and its price %s is known, but its credits were never fixed', l.line_id, l.price_id)
from paidonce.invoice_lines as l
join paidonce.invoices as n on n.invoice_id = l.invoice_id
where n.status = 'paid' and l.credits is null and l.price_id is not null
    and paidonce.credits_of_price(l.price_id, l.product_id, l.price_stated, l.stated_credits) is not null
union all
select 'credits_of_no_purchase', 'credit entry ' || c.entry_id, format('it is for %s, which is not a purchase', coalesce(c.purchase_id, 'nothing'))
from paidonce.credit_entries as c
where c.kind <> 'spend' and not exists (select from paidonce.purchase_objects as o where o.object_id = c.purchase_id)
union all
select 'balance_below_what_was_spent', u.user_id, format('the balance is %s, spent were only %s', u.balance, u.spent)
from (
    select c.user_id, sum(c.amount) as balance, -coalesce(sum(c.amount) filter (where c.kind = 'spend'), 0) as spent
    from paidonce.credit_entries as c
    group by c.user_id
) as u
where u.balance < -u.spent
union all
select 'reversal_without_purchase', t.purchase_id,
    format('%s is refunded or disputed, but no event has said yet what it paid for', t.refunded_amount + t.disputed_amount)
from paidonce.credit_targets as t
where not t.known and t.refunded_amount + t.disputed_amount > 0
union all
select 'due_and_not_done', d.kind || ' ' || d.subject,
    format('due since %s, tried %s times%s: is a worker running?', d.marked_at, d.attempts, coalesce(' (' || d.error || ')', ''))
from paidonce.due_work as d
-- A row of the mapping table is looked into in any case, and mostly nothing waited for it.
where d.kind not in ('price', 'product') or d.marked_at < now() - interval '1 minute'
union all
select 'link_contradicted', l.customer_id, format('it belongs to %s, but %s named %s', c.user_id, coalesce(l.event_id, 'a person'), l.user_id)
from paidonce.link_conflicts as l
left join paidonce.customers as c on c.customer_id = l.customer_id
where c.user_id is distinct from l.user_id;

comment on view paidonce.audit is 'What does not add up: events without effects, effects without events, credits that do not match payments, contradicted links. No row while everything adds up.';
comment on column paidonce.audit.check_name is 'Which check found it.';
comment on column paidonce.audit.subject is 'Id of what it found.';
comment on column paidonce.audit.detail is 'What is wrong with it, in a sentence.';
call paidonce.only_grant('select', 'table paidonce.audit', variadic '{}');
