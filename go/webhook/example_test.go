package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/go/webhook"
)

// Mount the handler in a server of your own, then see it turn away what Stripe has not signed. In a real
// service the two strings come from DATABASE_URL and STRIPE_WEBHOOK_SECRET.
func Example() {
	pool, err := database.Open(context.Background(), "postgres://app@localhost/app", database.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	stripe, err := webhook.New(webhook.Options{Secrets: []string{"whsec_example"}, DB: pool})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/webhooks/stripe", stripe)
	server := &http.Server{Addr: ":8080", Handler: mux, ReadTimeout: 10 * time.Second} // and server.ListenAndServe()

	answer := httptest.NewRecorder()
	server.Handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/webhooks/stripe", strings.NewReader(`{"id":"evt_1"}`)))
	fmt.Println(answer.Code, strings.TrimSpace(answer.Body.String()))
	// Output: 400 {"error":"no Stripe-Signature header"}
}

// Without a worker beside it, the handler itself does in the background what deliveries have made possible.
func ExampleHandler_RunDue() {
	_ = func(ctx context.Context, stripe *webhook.Handler, server *http.Server) error {
		due := make(chan error, 1)
		go func() { due <- stripe.RunDue(ctx) }()
		stop := context.AfterFunc(ctx, func() { _ = server.Shutdown(context.WithoutCancel(ctx)) })
		defer stop()
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return <-due
	}
}
