-- Purpose:   say how many credits one unit of a price is worth: the mapping table first, then the metadata of the price as the line carried
--            it, of the price, of its product.
-- Arguments: price_id; product_id; stated, whether the line carried the whole price; stated_credits, what that price's metadata said.
-- Returns:   credits per unit, 0 for none; null while it cannot be known yet.
-- Raises:    nothing.
-- Locks:     nothing.
create or replace function paidonce.credits_of_price(price_id text, product_id text, stated boolean, stated_credits bigint)
returns bigint
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
    v_credits bigint;
    v_price   pg_catalog.record;
begin
    select max(g.credits) into v_credits from paidonce.price_grants as g where g.price_id = credits_of_price.price_id;
    select p.credits, p.product_id into v_price from paidonce.prices as p where p.price_id = credits_of_price.price_id;
    stated := stated or found;
    v_credits := coalesce(v_credits, stated_credits, v_price.credits);
    if v_credits is not null or not stated then
        return v_credits;
    end if;

    product_id := coalesce(product_id, v_price.product_id);
    if product_id is null then
        return 0;
    end if;
    select coalesce(p.credits, 0) into v_credits from paidonce.products as p where p.product_id = credits_of_price.product_id;
    return v_credits;
end
$$;

comment on function paidonce.credits_of_price(text, text, boolean, bigint) is
    'Credits that one unit of a price is worth; null while price or product are not known yet.';

revoke all on function paidonce.credits_of_price(text, text, boolean, bigint) from public;
call paidonce.only_grant('execute', 'function paidonce.credits_of_price(text, text, boolean, bigint)', variadic '{}');
