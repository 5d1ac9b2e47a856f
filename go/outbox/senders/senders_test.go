package senders_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/senders"
)

func TestRegister(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://u@127.0.0.1:1/d") // asked for nothing
	require.NoError(t, err)
	t.Cleanup(pool.Close)

	for name, tc := range map[string]struct {
		config   senders.Config
		patterns []string
		err      string
	}{
		"given nothing when registered then there is no sender":                  {senders.Config{}, nil, ""},
		"given blanks when registered then there is no sender":                   {senders.Config{StripeKey: " ", ResendKey: "\n", HTTPURL: " "}, nil, ""},
		"given Stripe's key when registered then it refetches and calls":         {senders.Config{StripeKey: "sk_test_1"}, []string{"stripe.refetch", "stripe.*"}, ""},
		"given Resend's key when registered then it sends e-mail":                {senders.Config{ResendKey: "re_1"}, []string{"email.*"}, ""},
		"given a receiver when registered then it posts":                         {senders.Config{HTTPURL: "https://h.example", HTTPSecret: "s"}, []string{"http.*"}, ""},
		"given a receiver without a secret when registered then it is wrong":     {senders.Config{HTTPURL: "https://h.example"}, nil, "OUTBOX_HTTP_SECRET"},
		"given a secret without a receiver when registered then it is wrong":     {senders.Config{HTTPSecret: "s"}, nil, "OUTBOX_HTTP_URL"},
		"given a receiver that is no URL when registered then it is wrong":       {senders.Config{HTTPURL: "h.example", HTTPSecret: "s"}, nil, "httpsender"},
		"given a private receiver when registered then it is wrong":              {senders.Config{HTTPURL: "http://10.0.0.7/hook", HTTPSecret: "s"}, nil, "OUTBOX_HTTP_ALLOW_PRIVATE"},
		"given localhost when registered then it is wrong":                       {senders.Config{HTTPURL: "http://LocalHost:1/hook", HTTPSecret: "s"}, nil, "OUTBOX_HTTP_ALLOW_PRIVATE"},
		"given a private receiver that is allowed when registered then it posts": {senders.Config{HTTPURL: "http://127.0.0.1:1", HTTPSecret: "s", HTTPAllowPrivate: true}, []string{"http.*"}, ""},
		"given an address that is no URL when registered then it is wrong":       {senders.Config{StripeKey: "sk_test_1", StripeBase: "api"}, nil, "base URL"},
		"given Resend at no URL when registered then it is wrong":                {senders.Config{ResendKey: "re_1", ResendBase: "api"}, nil, "resend"},
		"given everything when registered then each is there":                    {senders.Config{StripeKey: "k", ResendKey: "k", HTTPURL: "https://h.example", HTTPSecret: "s"}, []string{"stripe.refetch", "stripe.*", "email.*", "http.*"}, ""},
		"given a policy of one's own when registered then the senders take it":   {senders.Config{ResendKey: "k", Policy: outbox.Policy{MaxAttempts: 3}}, []string{"email.*"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := outbox.New(outbox.Options{DB: pool})
			require.NoError(t, err)
			patterns, err := senders.Register(w, pool, tc.config)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.patterns, patterns)
			if patterns != nil {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				require.NoError(t, w.Run(ctx), "what was registered can be run")
			}
		})
	}
}
