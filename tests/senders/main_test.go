package senders_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/httpsender"
	"github.com/paidonce/paidonce/go/outbox/refetch"
	"github.com/paidonce/paidonce/go/outbox/resend"
	"github.com/paidonce/paidonce/go/outbox/stripe"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

const (
	stripeKey = "sk_test_1"
	resendKey = "re_1"
	lease     = 2 * time.Second
)

// childSetup names the variable by which this test binary is told to be a worker that kills itself.
const childSetup = "PAIDONCE_TEST_DOOMED_WORKER"

func TestMain(m *testing.M) {
	if text := os.Getenv(childSetup); text != "" {
		if err := beDoomed(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1) // it should not have come to this
	}
	pgtest.MainWithoutLeaks(m)
}

// setup is what a worker works with.
type setup struct {
	Database string
	Receiver string // of http.*
	Resend   string
	Stripe   string
	DieAfter bool // not before the request but after it
}

// beDoomed is the whole of a worker process that dies by SIGKILL at its first row.
func beDoomed(text string) error {
	var s setup
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	pool, err := database.Open(context.Background(), s.Database, database.Options{MaxConns: 3})
	if err != nil {
		return err
	}
	w, err := s.worker(pool, func(send outbox.Sender) outbox.Sender {
		return func(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
			if s.DieAfter {
				if _, err := send(ctx, a); err != nil {
					return nil, outbox.Permanent(fmt.Errorf("nothing to die after: %w", err))
				}
			}
			return nil, syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return w.Run(ctx)
}

// doomed runs such a process to its end.
func (s setup) doomed(t *testing.T, after bool) {
	t.Helper()
	s.DieAfter = after
	text, err := json.Marshal(s)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childSetup+"="+string(text))
	said, err := cmd.CombinedOutput()
	require.ErrorContains(t, err, "signal: killed", string(said))
}

// worker makes a worker with all senders, each wrapped.
func (s setup) worker(pool *pgxpool.Pool, wrap func(outbox.Sender) outbox.Sender) (*outbox.Worker, error) {
	w, err := outbox.New(outbox.Options{
		DB: pool, ListenURL: s.Database, Lease: lease, PollInterval: 50 * time.Millisecond, Concurrency: 4,
		Policy: outbox.Policy{BackoffBase: 20 * time.Millisecond, BackoffCap: 200 * time.Millisecond, Timeout: time.Second},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	quick := outbox.Policy{BackoffBase: 20 * time.Millisecond, BackoffCap: 200 * time.Millisecond, Timeout: time.Second}
	add := func(pattern string, send outbox.Sender, policy outbox.Policy, err error) error {
		if err == nil {
			w.Handle(pattern, wrap(send), policy, quick)
		}
		return err
	}
	send, policy, err := httpsender.New(httpsender.Options{URL: s.Receiver, Secret: "whsec_c2VjcmV0", AllowPrivate: true})
	if err := add("http.*", send, policy, err); err != nil {
		return nil, err
	}
	send, policy, err = resend.New(resend.Options{Key: resendKey, BaseURL: s.Resend})
	if err := add("email.*", send, policy, err); err != nil {
		return nil, err
	}
	send, policy, err = stripe.New(stripe.Options{Key: stripeKey, BaseURL: s.Stripe, SearchLag: 100 * time.Millisecond})
	if err := add("stripe.*", send, policy, err); err != nil {
		return nil, err
	}
	send, policy, err = refetch.New(refetch.Options{DB: pool, Key: stripeKey, BaseURL: s.Stripe, Rate: 500})
	return w, add(refetch.Action, send, policy, err)
}
