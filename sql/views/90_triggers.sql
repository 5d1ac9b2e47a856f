-- Triggers stand last, since they name functions.

create or replace trigger price_grants_changed
after insert or update of credits, price_id on paidonce.price_grants
for each row execute function paidonce.price_grants_changed();
