create or replace function public.handle_stripe_event(jsonb) returns jsonb
language plpgsql set search_path = ''
as $$ begin return jsonb_build_object('version', 2, 'note', paidonce.note($1 ->> 'id')); end $$;
comment on function public.handle_stripe_event(jsonb) is 'two';
