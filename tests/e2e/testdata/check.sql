-- What must always hold: processed means that the effects are committed, exactly once; nothing else has any. Every row is a fault.
with mine as (
    select e.*, (select count(*) from app.runs as r where r.event_id = e.event_id) as runs
    from paidonce.events as e
    where e.event_type ~ '^(checkout\.session|customer|invoice)\.'
), logged as (
    select d.event_id, count(*) filter (where d.outcome = 'processed') as processed, count(*) as all_of_them
    from paidonce.deliveries as d
    group by d.event_id
)
select 'processed, but not run exactly once' as fault, event_id as subject from mine where status = 'processed' and runs <> 1
union all
select 'not processed, but run', event_id from mine where status <> 'processed' and runs <> 0
union all
select 'run without an event', r.event_id from app.runs as r
where not exists (select from paidonce.events as e where e.event_id = r.event_id)
union all
select 'outbox row of an event that is not processed', o.idempotency_key from paidonce.outbox as o
where not exists (select from paidonce.events as e where e.event_id = o.event_id and e.status = 'processed')
union all
select 'grant of an event that is not processed', g.invoice_id from app.grants as g
where not exists (select from paidonce.events as e where e.event_id = g.event_id and e.status = 'processed')
union all
select 'paid invoice without exactly one grant', object_id from mine
where event_type = 'invoice.paid' and status = 'processed'
    and (select count(*) from app.grants as g where g.invoice_id = object_id) <> 1
union all
select 'paid invoice without its receipt', object_id from mine
where event_type = 'invoice.paid' and status = 'processed'
    and not exists (select from paidonce.outbox as o where o.idempotency_key = 'receipt:' || object_id)
union all
select 'created subscription without its provisioning', event_id from mine
where event_type = 'customer.subscription.created' and status = 'processed'
    and not exists (select from paidonce.outbox as o where o.idempotency_key = event_id || ':http.provision')
union all
select 'subscription event without a subscription', event_id from mine
where event_type ~ '^customer\.subscription\.' and status = 'processed'
    and not exists (select from paidonce.subscriptions as s where s.subscription_id = object_id)
union all
select 'subscription stated by an event that is not processed', s.subscription_id from paidonce.subscriptions as s
where not exists (select from paidonce.events as e where e.event_id = s.source_event and e.status = 'processed')
union all
select 'subscription without a refetch asked for', s.subscription_id from paidonce.subscriptions as s
where not exists (select from paidonce.outbox as o where o.coalesce_key = concat_ws(':', 'refetch', s.account, s.subscription_id))
union all
select 'customer linked by an event that is not processed', c.customer_id from paidonce.customers as c
where c.link_event is not null
    and not exists (select from paidonce.events as e where e.event_id = c.link_event and e.status = 'processed')
union all
select 'event without a delivery', e.event_id from paidonce.events as e
where not exists (select from logged as l where l.event_id = e.event_id)
union all
select 'delivery without an event', l.event_id from logged as l
where not exists (select from paidonce.events as e where e.event_id = l.event_id)
union all
select 'processed by none or by several deliveries', e.event_id from paidonce.events as e
join logged as l on l.event_id = e.event_id
where l.processed <> (e.status = 'processed')::integer;
