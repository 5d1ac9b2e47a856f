-- Purpose:   rank the statements of one second by what they are evidence of: deleted outranks a change, a change outranks created,
--            created outranks a notice; within that the state further along its way outranks the one before it.
-- Arguments: event_type; object; status of the object (of an invoice: see paidonce.read_invoice_status).
-- Returns:   a number to compare within one second; 9 * 10^15 is a refetch.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.rank_of(event_type text, object jsonb, status text)
returns bigint
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    if event_type = 'snapshot' then
        return 9000000000000000;
    end if;
    return case
            when event_type like '%.trial_will_end' or event_type like '%.expiring' or event_type like '%.upcoming' then 0
            when event_type like '%.created' then 1
            when event_type like '%.deleted' then 3
            else 2
        end * 1000000000000000
        + case object ->> 'object'
            -- A recurring price is told twice, once as the plan it would have been.
            when 'price' then 1
            when 'subscription' then case when status = 'incomplete' then 0 else 1 end
            when 'invoice' then coalesce(array_position('{draft,open,uncollectible,paid,void}', status), 0)
            when 'checkout.session' then case
                when object ->> 'payment_status' in ('paid', 'no_payment_required') then 3
                else coalesce(array_position('{open,complete,expired}', status), 0)
            end
            when 'payment_intent' then coalesce(array_position(
                '{requires_payment_method,requires_confirmation,requires_action,processing,requires_capture,canceled,succeeded}', status), 0)
            -- Money only ever goes back further: of two statements the one that says more of it is the later.
            when 'charge' then least(coalesce(paidonce.read_integer(object -> 'amount_refunded'), 0), 99999999999999) * 4
                + coalesce(array_position('{pending,failed,succeeded}', status), 0)
            when 'refund' then coalesce(array_position('{pending,requires_action,succeeded,failed,canceled}', status), 0)
            when 'dispute' then case
                when status in ('won', 'lost', 'warning_closed') then 2
                when status in ('under_review', 'warning_under_review') then 1
                else 0
            end
            else 0
        end;
end
$$;

comment on function paidonce.rank_of(text, jsonb, text) is
    'Rank of a statement among those of the same second: by the kind of event, then by how far the state is along its way.';

revoke all on function paidonce.rank_of(text, jsonb, text) from public;
call paidonce.only_grant('execute', 'function paidonce.rank_of(text, jsonb, text)', variadic '{}');
