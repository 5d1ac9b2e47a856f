-- Purpose:   say where a projection keeps its objects: x in the table paidonce.xs, which inherits from paidonce.objects.
-- Arguments: projection, as paidonce.projection_of names it.
-- Returns:   relation and key, its primary key; both null when it keeps none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.kept_in(projection text, out relation regclass, out key name)
returns record
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
    if projection is null then
        return; -- an event that no projection reads
    end if;
    select i.inhrelid, a.attname into relation, key
    from pg_catalog.pg_inherits as i
    join pg_catalog.pg_index as x on x.indrelid = i.inhrelid and x.indisprimary
    join pg_catalog.pg_attribute as a on a.attrelid = x.indrelid and a.attnum = x.indkey[0]
    where i.inhparent = 'paidonce.objects'::pg_catalog.regclass
        and i.inhrelid = to_regclass(format('paidonce.%I', regexp_replace(projection || 's', 'ys$', 'ies')));
end
$$;

comment on function paidonce.kept_in(text) is
    'Where a projection keeps its objects: the table of its name in the plural and that table''s primary key.';

revoke all on function paidonce.kept_in(text) from public;
call paidonce.only_grant('execute', 'function paidonce.kept_in(text)', variadic '{}');
