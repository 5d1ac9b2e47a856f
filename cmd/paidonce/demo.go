package main

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/paidonce/paidonce/internal/demo"
)

type demoCommand struct{}

func (demoCommand) Help() string {
	return `Starts a Postgres of its own in a temporary folder, set up like a Supabase project, migrates it, starts the
handler, and delivers signed events over HTTP: several at once, a tampered one, one whose effect fails.
Prints what came in, what was answered and what is in the tables, and compares it with what must be there.
Leaves nothing behind. Exit code 0 only if all of it is true.`
}

func (demoCommand) Run(ctx context.Context, io streams) error {
	ctx, stop := withHangup(ctx)
	defer stop()
	return demo.Run(ctx, io.out)
}

// withHangup also ends when the terminal is closed, so that the throwaway Postgres does not outlive it;
// unless the caller said, as nohup does, that a hangup means nothing.
func withHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}
