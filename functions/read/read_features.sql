-- Purpose:   read which features a product names.
-- Arguments: object, a product: metadata feature, or features separated by commas.
-- Returns:   the names in order, each once; empty when there are none.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.read_features(object jsonb)
returns text[]
language plpgsql
immutable
security invoker
set search_path = ''
as $$
begin
    return array(
        select distinct btrim(f.name)
        from regexp_split_to_table(
            concat_ws(',', paidonce.read_metadata(object, 'feature'), paidonce.read_metadata(object, 'features')), ','
        ) as f (name)
        where btrim(f.name) <> ''
        order by 1
    );
end
$$;

comment on function paidonce.read_features(jsonb) is
    'Feature names in a product''s metadata: feature, or features separated by commas.';

revoke all on function paidonce.read_features(jsonb) from public;
call paidonce.only_grant('execute', 'function paidonce.read_features(jsonb)', variadic '{}');
