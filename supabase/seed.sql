-- What `supabase db reset` leaves in a local project: one customer with a user and one subscription,
-- brought in the way Stripe would, so that there is something to look at. Running it again changes nothing.

select public.handle_stripe_event('{
    "id": "evt_seed_customer",
    "object": "event",
    "type": "customer.created",
    "api_version": "2024-06-20",
    "created": 1767225600,
    "livemode": false,
    "data": {
        "object": {
            "id": "cus_seed",
            "object": "customer",
            "created": 1767225600,
            "email": "ada@example.com",
            "livemode": false,
            "metadata": {"user_id": "00000000-0000-4000-8000-000000000001"}
        }
    }
}');

select public.handle_stripe_event('{
    "id": "evt_seed_subscription",
    "object": "event",
    "type": "customer.subscription.created",
    "api_version": "2024-06-20",
    "created": 1767225601,
    "livemode": false,
    "data": {
        "object": {
            "id": "sub_seed",
            "object": "subscription",
            "created": 1767225601,
            "customer": "cus_seed",
            "status": "active",
            "livemode": false,
            "cancel_at_period_end": false,
            "current_period_start": 1767225601,
            "current_period_end": 1769904001,
            "metadata": {},
            "items": {
                "object": "list",
                "data": [
                    {
                        "id": "si_seed",
                        "object": "subscription_item",
                        "quantity": 1,
                        "price": {"id": "price_seed", "object": "price", "product": "prod_seed", "metadata": {}}
                    }
                ]
            }
        }
    }
}');
