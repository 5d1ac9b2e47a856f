-- Schema paidonce itself stays, since the table of applied migrations lives in it, and so do the roles,
-- which other databases of the cluster may use. What was granted on the schema goes.
do $$
declare
    v_grantee text;
begin
    for v_grantee in
        select distinct r.rolname
        from pg_catalog.pg_namespace as n
        cross join lateral pg_catalog.aclexplode(n.nspacl) as a
        join pg_catalog.pg_roles as r on r.oid = a.grantee
        where n.nspname = 'paidonce' and a.grantee <> n.nspowner
        order by r.rolname
    loop
        execute pg_catalog.format('revoke all on schema paidonce from %I', v_grantee);
    end loop;
end
$$;
comment on schema paidonce is null;
