-- Purpose:   run the parked events of a customer, oldest first.
-- Arguments: customer_id.
-- Returns:   nothing.
-- Raises:    what makes a whole delivery try again (see handle_stripe_event). An event that fails is kept as failed.
-- Locks:     the events' rows. One that is being delivered at this moment is passed over: it waits for the
--            customer and will see the link itself.
create or replace function paidonce.run_parked(customer_id text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_event pg_catalog.jsonb;
begin
    for v_event in
        select e.payload
        from paidonce.events as e
        where e.customer_id = run_parked.customer_id and e.status = 'parked'
        order by e.created, e.event_id
        for update skip locked
    loop
        perform public.handle_stripe_event(v_event || '{"paidonce": {"source": "link"}}');
    end loop;
end
$$;

comment on function paidonce.run_parked(text) is
    'Runs the parked events of a customer, oldest first.';

revoke all on function paidonce.run_parked(text) from public;
call paidonce.only_grant('execute', 'function paidonce.run_parked(text)', variadic '{}');
