package senders_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/senders"
)

// A worker of one's own with the built-in senders and one more. It sends once worker.Run is called.
func ExampleRegister() {
	pool, err := pgxpool.New(context.Background(), "postgres://worker@localhost/app")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	worker, err := outbox.New(outbox.Options{DB: pool})
	if err != nil {
		log.Fatal(err)
	}
	patterns, err := senders.Register(worker, pool, senders.Config{StripeKey: "sk_test_example", ResendKey: "re_example"})
	if err != nil {
		log.Fatal(err)
	}
	worker.Handle("sms.*", func(context.Context, outbox.Action) (json.RawMessage, error) { return nil, nil })
	fmt.Println(patterns)
	// Output: [stripe.refetch stripe.* email.*]
}
