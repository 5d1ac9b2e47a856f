create or replace function public.handle_stripe_event(jsonb) returns jsonb
language plpgsql set search_path = ''
as $$ begin return '{"version": 1}'; end $$;
comment on function public.handle_stripe_event(jsonb) is 'one';
