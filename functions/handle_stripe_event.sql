-- Purpose:   take one verified Stripe event and apply its business effect exactly once, however often, in
--            whatever order and from however many connections it arrives. One transaction: claim the event,
--            lock its subject, run the effects, write their outbox rows, log the delivery.
-- Arguments: $1, the event as Stripe sent it. Unnamed, so that PostgREST hands over the whole request body.
--            The kit's own callers may add one top-level key, "paidonce":
--            {"repaired": characters replaced, "source": link|replay, "force": true to run it once more,
--            "patience": how long to wait for a lock instead of 3 s}.
-- Returns:   {"outcome", "event_id", "event_type", "attempt"}, and "error", "sqlstate" when it failed.
--            outcome: processed, duplicate, ignored, parked, failed.
-- Raises:    PO400, not a Stripe event: nothing is written.
--            40001 under any isolation level stricter than read committed.
--            classes 40 and 53, 55P03, 57014: try again; nothing is written.
-- Locks:     the event's row, then all that it will need (see paidonce.lock_set), then what effects of your own lock.
create or replace function public.handle_stripe_event(jsonb)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
set lock_timeout = '3s'
as $$
declare
    v_began   constant pg_catalog.timestamptz := clock_timestamp();
    v_note    constant pg_catalog.jsonb := coalesce($1 -> 'paidonce', '{}');
    v_event   constant pg_catalog.jsonb := case when v_note = '{}' then $1 else $1 - 'paidonce' end;
    v_is      pg_catalog.record;
    v_admit   pg_catalog.record;
    v_outcome pg_catalog.text;
    v_attempt integer;
    v_sqlstate pg_catalog.text;
    v_error   pg_catalog.text;
    v_context pg_catalog.text;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform paidonce.require_read_committed();
    end if;
    if v_note ? 'patience' then
        perform set_config('lock_timeout', v_note ->> 'patience', true); -- ends with this function
    end if;
    v_is := paidonce.read_event(v_event);
    v_admit := paidonce.admit(v_is.type, v_is.livemode, v_is.account);
    v_error := v_admit.refusal;
    v_outcome := case when v_error is null then 'processed' else 'ignored' end;

    -- The claim. A twin in flight makes this wait; when that twin commits there is nothing left to claim,
    -- when it rolls back the row is ours. The row says 'processed' from here on because nobody sees it
    -- before the commit, and what follows corrects it wherever that does not come true.
    insert into paidonce.events as e (
        event_id, event_type, object_id, customer_id, account, livemode, api_version, created,
        status, error, processed_at, received_at, repaired, payload
    ) values (
        v_is.id, v_is.type, v_is.object_id, v_is.customer_id, v_is.account, v_is.livemode, v_is.api_version, v_is.created,
        v_outcome, v_error, case when v_error is null then v_began end, v_began,
        coalesce((v_note ->> 'repaired')::integer, 0), v_event
    )
    on conflict (event_id) do update
    set status = excluded.status, error = excluded.error, processed_at = excluded.processed_at,
        sqlstate = null, context = null, attempts = e.attempts + 1
    where e.status in ('failed', 'parked')
        or (e.status = 'ignored' and excluded.status = 'processed')
        or (v_note -> 'force' = 'true')
    returning e.attempts into v_attempt;

    if v_attempt is null then
        v_outcome := 'duplicate';
        v_error := null;
        select e.attempts into v_attempt from paidonce.events as e where e.event_id = v_is.id;
    end if;

    if v_outcome = 'processed' then
        -- Outside the inner block: a parked event keeps its customer locked until it is committed, so that
        -- whoever links the customer either is seen by it or sees it.
        perform paidonce.lock_event(v_event, v_is.object, v_is.customer_id, v_admit.metadata_key);

        -- An effect that raises is undone to the last row, together with every other effect of the event,
        -- while the event's row survives and tells why.
        begin
            perform paidonce.project_event(v_event);
            if v_admit.handlers <> '{}' then
                perform paidonce.run_handlers(v_admit.handlers, v_event);
            end if;
        exception
            when transaction_rollback or lock_not_available or insufficient_resources then
                raise; -- not the effect's fault: commit nothing, the caller tries again
            when sqlstate 'PO404' then
                v_outcome := 'parked';
                get stacked diagnostics v_error = message_text, v_sqlstate = returned_sqlstate;
            when assert_failure or others then
                v_outcome := 'failed';
                get stacked diagnostics v_error = message_text, v_sqlstate = returned_sqlstate,
                    v_context = pg_exception_context;
        end;

        if v_outcome <> 'processed' then
            update paidonce.events as e
            set status = v_outcome, processed_at = null, sqlstate = v_sqlstate, error = v_error, context = v_context
            where e.event_id = v_is.id;
        end if;
    end if;

    insert into paidonce.deliveries (event_id, received_at, outcome, source, error, duration_ms)
    values (
        v_is.id, v_began, v_outcome, coalesce(v_note ->> 'source', 'webhook'), v_error,
        extract(epoch from clock_timestamp() - v_began) * 1000
    );

    return jsonb_build_object(
        'outcome', v_outcome, 'event_id', v_is.id, 'event_type', v_is.type, 'attempt', v_attempt
    ) || case v_outcome
        when 'failed' then jsonb_build_object('error', v_error, 'sqlstate', v_sqlstate)
        else '{}'
    end;
end
$$;

comment on function public.handle_stripe_event(jsonb) is
    'Takes one verified Stripe event and applies its effect exactly once. Returns outcome, event_id, event_type and attempt.';

revoke all on function public.handle_stripe_event(jsonb) from public;
call paidonce.only_grant('execute', 'function public.handle_stripe_event(jsonb)', 'service_role', 'paidonce_edge');
