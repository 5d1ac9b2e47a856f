-- What a worker does with the outbox, in SQL alone: claim, settle, and what the person on call does after it.
begin;
set search_path = public, extensions;
\ir support.psql
select plan(107);

create procedure spec.ask(keys text[], action text default 'email.a') language plpgsql as $$
begin
    perform paidonce.enqueue_once(k, null, action, '{"n": 1}') from unnest(keys) as k;
end
$$;
-- Claims as the worker's role would, and says what came: key, attempt and token.
create function spec.claim(n integer, lease interval default '1 minute', actions text[] default null) returns setof text
language sql volatile as $$
    select concat_ws(' ', c.idempotency_key, c.attempts, c.lease_token) from paidonce.claim_outbox(n, lease, actions) as c
$$;
create function spec.settle(key text, outcome text, token bigint, more jsonb default '{}') returns bigint
language sql volatile as $$
    select count(*) from paidonce.settle_outbox((
        select jsonb_build_array(jsonb_build_object('id', o.id, 'lease_token', token, 'outcome', outcome) || more)
        from paidonce.outbox as o where o.idempotency_key = key))
$$;
create function spec.state(key text) returns text language sql volatile as $$
    select concat_ws(' ', o.status, o.attempts, case when o.lease_until is not null then 'leased' end, o.error)
    from paidonce.outbox as o where o.idempotency_key = key
$$;
create procedure spec.expire() language sql as $$
    update paidonce.outbox set lease_until = now() - interval '1 second' where lease_until is not null
$$;

-- Claim

select is_empty('select claim(10)', 'given an empty outbox, when it is claimed from, then nothing comes');
call ask(array['k1', 'k2', 'k3', 'k4', 'k5']);
update paidonce.outbox set next_attempt_at = now() - interval '1 hour' where idempotency_key = 'k4';
select set_eq('select claim(2)', array['k4 1 1', 'k1 1 1'], 'given five rows, when two are claimed, then those due first come, and no more');
select is(state('k4'), 'pending 1 leased', 'given a claimed row, when it is looked at, then it is leased and its attempt counts');
select is((select count(*) from paidonce.outbox where first_attempt_at is not null), 2::bigint,
    'given claimed rows, when they are looked at, then it is known since when they are tried');
select set_eq('select claim(10)', array['k2 1 1', 'k3 1 1', 'k5 1 1'], 'given leased rows, when more are claimed, then only the others come');
select is_empty('select claim(10)', 'given that all are leased, when more are claimed, then nothing comes');
update paidonce.outbox set lease_until = now() - interval '1 second' where idempotency_key = 'k3';
select set_eq('select claim(10)', array['k3 2 2'], 'given a lease that ran out, when rows are claimed, then its row comes again, as its second attempt, with another token');
update paidonce.outbox set lease_until = null, next_attempt_at = now() + interval '1 hour' where idempotency_key = 'k5';
select is_empty('select claim(10)', 'given a row that is not due, when rows are claimed, then it does not come');
select throws_ok(format('select paidonce.claim_outbox(%s, %s)', v.n, v.lease), '22023', null, format('given %s rows and the lease %s, when they are claimed, then it is refused', v.n, v.lease))
from (values ('0', '''1 minute'''), ('-1', '''1 minute'''), ('10001', '''1 minute'''), ('null', '''1 minute'''), ('1', '''0'''), ('1', '''-1 minute'''), ('1', 'null::interval')) as v (n, lease);

-- Only these actions

truncate paidonce.outbox;
call ask(array['e1'], 'email.a');
call ask(array['e2'], 'email.b.c');
call ask(array['e3'], 'emailer.a');
call ask(array['s1'], 'stripe.refetch');
call ask(array['s2'], 'stripe.refund');
create function spec.claimable(actions text[]) returns setof text language plpgsql volatile as $$
begin
    return query select o.key from (select split_part(claim(10, '1 minute', actions), ' ', 1) as key) as o;
    update paidonce.outbox set lease_until = null;
end
$$;
select set_eq(format('select claimable(%L)', v.actions), v.keys, format('given the actions %s, when rows are claimed, then only theirs come', coalesce(v.actions::text, 'null')))
from (values
    (null::text[], array['e1', 'e2', 'e3', 's1', 's2']),
    ('{*}', array['e1', 'e2', 'e3', 's1', 's2']),
    ('{email.a}', array['e1']),
    ('{email.*}', array['e1', 'e2']),
    ('{email.b.*,stripe.refund}', array['e2', 's2']),
    ('{stripe.*,!stripe.refetch}', array['s2']),
    ('{*,!email.*,!emailer.a}', array['s1', 's2']),
    ('{email.*,email.b.*,email.a,email.a}', array['e1', 'e2']),
    ('{email*}', array['e1', 'e2', 'e3']),
    ('{emailer.a,!emailer.*,email.a}', array['e1']),
    ('{stripe.refetch,stripe.refund,none.such}', array['s1', 's2'])
) as v (actions, keys);
select is_empty('select claimable(''{}'')', 'given a list of no actions, when rows are claimed, then nothing comes');
select is_empty('select claimable(''{other.*,!email.*}'')', 'given actions that no row has, when rows are claimed, then nothing comes');

select is_empty('select claimable(''{*,!*}'')', 'given that nothing is left of all actions, when rows are claimed, then nothing comes');
select is_empty('select claimable(''{stripe}'')', 'given the name of a family without its star, when rows are claimed, then it is an action like any other');

-- Those due first, over many actions

truncate paidonce.outbox;
call ask(array['a1', 'a2', 'a3'], 'a.x');
call ask(array['b1', 'b2', 'b3'], 'a.y');
call ask(array['c1'], 'a-z');
update paidonce.outbox set next_attempt_at = now() - v.hours * interval '1 hour'
from (values ('a1', 9), ('b1', 8), ('b2', 7), ('c1', 6), ('a2', 5), ('a3', -1)) as v (key, hours) where idempotency_key = v.key;
create function spec.due(n integer, actions text[]) returns text language sql volatile as $$
    select string_agg(c.idempotency_key, ' ' order by c.idempotency_key) from paidonce.claim_outbox(n, '1 minute', actions) as c
$$;
select is(due(3, '{*}'), 'a1 b1 b2', 'given rows of three actions, when three are claimed, then those due first of all come');
select is(due(2, '{a.*}'), 'a2 b3', 'and then the next of the family alone, without what only begins like it, and without what is not due');
select is(due(10, '{a.*}'), null, 'and then none');
select is(due(10, null), 'c1', 'while the other one waits for whom it may concern');
update paidonce.outbox set lease_until = null, next_attempt_at = now() - interval '1 hour';
select is(due(100, '{a.*,a-z}'), 'a1 a2 a3 b1 b2 b3 c1', 'given a limit above what is due, when rows of several actions are claimed, then all come');
select is((select count(*) from paidonce.outbox where attempts = 2), 6::bigint, 'and each once');
select is((select string_agg(distinct c.relname, ' ' order by c.relname) from pg_index as i join pg_class as c on c.oid = i.indexrelid
    join pg_attribute as a on a.attrelid = c.oid where i.indrelid = 'paidonce.outbox'::regclass and a.attname in ('lease_until', 'lease_token', 'attempts', 'first_attempt_at')), null,
    'given what a claim changes, when the indexes are looked at, then it is in none of them');

-- Settle, and fencing

truncate paidonce.outbox;
call ask(array['k1', 'k2', 'k3', 'k4', 'k5']);
select set_eq('select claim(10)', array['k1 1 1', 'k2 1 1', 'k3 1 1', 'k4 1 1', 'k5 1 1'], 'given five claimed rows');
select is(settle('k1', 'sent', 1, '{"response": {"id": 7}}'), 1::bigint, 'when one is settled as sent, then it is taken');
select results_eq('select status, sent_at is not null, lease_until, response, error from paidonce.outbox where idempotency_key = ''k1''',
    $$values ('sent', true, null::timestamptz, '{"id": 7}'::jsonb, null::text)$$, 'and the row says so, with the answer');
select is(settle('k2', 'retry', 1, '{"error": "503", "retry_after": 90.5}'), 1::bigint, 'when one is settled to be tried again, then it is taken');
select is(state('k2'), 'pending 1 503', 'and it is pending, with its error');
select ok((select next_attempt_at between now() + interval '85 seconds' and clock_timestamp() + interval '91 seconds' from paidonce.outbox where idempotency_key = 'k2'),
    'and not due before the time that was asked for');
select is(settle('k3', 'dead', 1, '{"error": "422 no such address"}'), 1::bigint, 'when one is settled as dead, then it is taken');
select is(state('k3'), 'dead 1 422 no such address', 'and its error is kept');
select is(settle('k4', 'release', 1), 1::bigint, 'when one is given back untried, then it is taken');
select results_eq('select status, attempts, lease_until, first_attempt_at, next_attempt_at <= clock_timestamp() from paidonce.outbox where idempotency_key = ''k4''',
    $$values ('pending', 0, null::timestamptz, null::timestamptz, true)$$, 'and it is as if nobody had had it');
select is(settle('k1', o, 1), 0::bigint, format('given a row that is over, when it is settled as %s once more, then nothing changes', o)) from unnest(array['sent', 'retry', 'dead', 'release']) as o;
select is(state('k1'), 'sent 1', 'and it stays sent');

call expire();
select set_eq('select claim(10)', array['k4 1 2', 'k5 2 2'], 'given a row whose lease ran out and that another worker has now');
select is(settle('k5', o, 1, '{"error": "late"}'), 0::bigint, format('when the first settles it as %s with its old token, then it is refused', o)) from unnest(array['sent', 'retry', 'dead', 'release']) as o;
select is(state('k5'), 'pending 2 leased', 'and the row is still the second one''s');
call expire();
select is(settle('k5', 'sent', 2), 1::bigint, 'given a lease that ran out and nobody took the row over, when its worker settles it after all, then it is taken');
select throws_ok($$select paidonce.settle_outbox('[{"id": 1, "lease_token": 1, "outcome": "lost"}]')$$, '22023', null,
    'given an unknown outcome, when it is settled, then the batch is refused');
select is_empty($$select paidonce.settle_outbox('[]')$$, 'given no results, when they are settled, then nothing happens');

-- The person on call

select ok(paidonce.requeue_outbox((select id from paidonce.outbox where idempotency_key = 'k3')), 'given a dead row, when it is requeued, then it is pending');
select results_eq('select status, attempts, first_attempt_at, error, payload from paidonce.outbox where idempotency_key = ''k3''',
    $$values ('pending', 0, null::timestamptz, null::text, '{"n": 1}'::jsonb)$$, 'and it has fresh attempts, with the payload that it had');
select throws_ok($$select paidonce.requeue_outbox((select id from paidonce.outbox where idempotency_key = 'k1'))$$, '55000', null, 'given a row that was sent, when it is requeued, then it is refused');
select ok(paidonce.requeue_outbox((select id from paidonce.outbox where idempotency_key = 'k1'), true), 'and by force it is pending again');

truncate paidonce.outbox;
call ask(array['k1', 'k2', 'k3', 'k4']);
select is((select count(*) from (select claim(3)) as c), 3::bigint, 'given three claimed rows and one that waits');
do $$
begin
    perform settle('k1', 'sent', 1), settle('k2', 'dead', 1);
end
$$;
update paidonce.outbox set created_at = created_at - interval '1 hour' where idempotency_key = 'k4';
select results_eq('select pending, due, leased, dead, round(oldest_seconds / 60) from paidonce.outbox_backlog()', 'values (2::bigint, 1::bigint, 1::bigint, 1::bigint, 60::double precision)',
    'when the backlog is counted, then what is over does not count, and the oldest of the rest has its age');
select is(paidonce.prune_outbox('1 day'), 0::bigint, 'given rows that have just ended, when the outbox is pruned, then they stay');
update paidonce.outbox set sent_at = sent_at - interval '2 days', first_attempt_at = first_attempt_at - interval '2 days', created_at = created_at - interval '2 days',
    next_attempt_at = next_attempt_at - interval '2 days';
select is(paidonce.prune_outbox('1 day', 1), 1::bigint, 'given two that ended long ago, when one may be pruned, then one is');
select is(paidonce.prune_outbox('1 day'), 1::bigint, 'and then the other, also if it is dead');
select set_eq('select idempotency_key from paidonce.outbox', array['k3', 'k4'], 'while what is pending stays, however old it is');

-- A refetch is a question: one that is asked again while its answer is on the way must be asked once more.

truncate paidonce.outbox;
create function spec.refetch() returns void language sql volatile as $$
    select paidonce.request_refetch('{"id": "evt_1"}', 'subscription', 'sub_1')
$$;
do $$
begin
    perform refetch(), refetch();
end
$$;
select is((select count(*) from paidonce.outbox), 1::bigint, 'given a refetch that waits, when it is asked for again, then it is one');
select set_eq('select claim(1)', array['evt_1:stripe.refetch:sub_1 1 1'], 'given that a worker has it');
do $$
begin
    perform refetch();
end
$$;
select is(settle('evt_1:stripe.refetch:sub_1', 'sent', 1), 0::bigint, 'when it is asked for meanwhile, then the answer on its way does not settle it');
select set_eq('select claim(1)', array['evt_1:stripe.refetch:sub_1 1 3'], 'and it is claimed again, at once, as a first attempt');
select is(settle('evt_1:stripe.refetch:sub_1', 'sent', 3), 1::bigint, 'and that answer settles it');
do $$
begin
    perform paidonce.request_refetch('{"id": "evt_2"}', 'subscription', 'sub_1');
end
$$;
select is((select count(*) from paidonce.outbox where status = 'pending'), 1::bigint, 'given one that was made, when another event asks, then a new one waits');

-- Rights

select is(attempt(r.name, v.call), case when r.name = 'paidonce_worker' then 'ok 1' else '42501' end,
    format('given %s, when it calls %s, then only the worker''s role may', r.name, v.call))
from roles as r, (values ($$select paidonce.claim_outbox(1, '1 minute')$$), ('select * from paidonce.outbox_backlog()'),
    ($$select count(*) from paidonce.settle_outbox('[]')$$)) as v (call);
select is(attempt(r.name, v.call), '42501', format('given %s, when it calls %s, then nobody but the owner may', r.name, v.call))
from roles as r, (values ('select paidonce.requeue_outbox(1)'), ($$select paidonce.prune_outbox('1 day')$$), ('select * from paidonce.outbox')) as v (call);

select * from finish();
rollback;
