-- Purpose:   read what a product says.
-- Arguments: object, a product.
-- Returns:   its facts; null what it does not say. features: the names in metadata feature, or features separated by commas, in order, each once.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_product(object jsonb, out active boolean, out name text, out features text[], out credits bigint)
returns record
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    active := object -> 'active' is distinct from 'false';
    name := object ->> 'name';
    features := array(
        select distinct btrim(f.name)
        from regexp_split_to_table(concat_ws(',', object #>> '{metadata,feature}', object #>> '{metadata,features}'), ',') as f (name)
        where btrim(f.name) <> ''
        order by 1
    );
    credits := case when btrim(object #>> '{metadata,credits}') ~ '^[0-9]{1,12}$' then btrim(object #>> '{metadata,credits}')::bigint end;
end
$$;

comment on function paidonce.read_product(jsonb) is
    'What a product says, and what its metadata names.';

revoke all on function paidonce.read_product(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_product(jsonb)', variadic '{}');
