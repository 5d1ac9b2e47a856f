-- Purpose:   mark what has become possible, to be done after this transaction by paidonce.run_due.
-- Arguments: kind and subject, as in paidonce.due_work; cause, the event that made it possible, or null.
-- Returns:   nothing. Marking twice does no harm: what is done already is found done.
-- Raises:    23514 when the kind is unknown.
-- Locks:     the new row.
create or replace function paidonce.mark_due(kind text, subject text, cause text)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    insert into paidonce.due_work (kind, subject, cause) values (mark_due.kind, mark_due.subject, mark_due.cause);
    perform paidonce.notify_outbox();
end
$$;

comment on function paidonce.mark_due(text, text, text) is
    'Marks what has become possible as due.';

revoke all on function paidonce.mark_due(text, text, text) from public;
call paidonce.only_grant('execute', 'function paidonce.mark_due(text, text, text)', variadic '{}');
