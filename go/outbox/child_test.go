package outbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// What a worker process of the tests is told.
const (
	childDatabase = "PAIDONCE_TEST_WORKER_DATABASE"
	childReceiver = "PAIDONCE_TEST_WORKER_RECEIVER"
	childLease    = "PAIDONCE_TEST_WORKER_LEASE"
)

// beWorker is the whole of a worker process: it posts every row to the receiver until SIGTERM.
func beWorker() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := runWorker(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runWorker(ctx context.Context) error {
	lease, err := time.ParseDuration(os.Getenv(childLease))
	if err != nil {
		return err
	}
	db, err := pgxpool.New(context.Background(), os.Getenv(childDatabase)+"&pool_max_conns=4")
	if err != nil {
		return err
	}
	defer db.Close()
	w, err := outbox.New(outbox.Options{
		DB: db, ListenURL: os.Getenv(childDatabase), Lease: lease, PollInterval: 200 * time.Millisecond, Concurrency: 8,
		Policy: outbox.Policy{BackoffBase: 50 * time.Millisecond, BackoffCap: time.Second}, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	w.Handle("*", post)
	return w.Run(ctx)
}

func post(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv(childReceiver), bytes.NewReader(a.Payload))
	if err != nil {
		return nil, outbox.Permanent(err)
	}
	request.Header.Set("Idempotency-Key", a.IdempotencyKey)
	request.GetBody = nil // net/http must not send it again by itself
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	return nil, nil
}

// child starts a worker process. The caller waits for it; it does not outlive the test.
func child(t *testing.T, db *pgtest.DB, receiver string, lease time.Duration) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childDatabase+"="+db.URL("postgres"), childReceiver+"="+receiver, childLease+"="+lease.String())
	var out log
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if t.Failed() {
			t.Logf("worker %d said:\n%s", cmd.Process.Pid, out.String())
		}
	})
	return cmd
}
