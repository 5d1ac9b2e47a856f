// Package demo shows the whole of paidonce on a throwaway Postgres: what comes in, what is answered, and
// what is in the tables afterwards.
//
// Nothing that it prints about the tables is assumed. Every number is read back by a query, compared with
// what it must be, and the demo fails if a single one differs.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// ErrWrong says that the story was told to the end and something in it was not as it must be.
var ErrWrong = errors.New("not everything is as it must be")

// Run sets the stage up, tells the story to out, and takes everything down again.
func Run(ctx context.Context, out io.Writer) (err error) {
	started := time.Now()
	s, err := build(ctx, "127.0.0.1:0", slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	t := &teller{out: out, stage: s}
	if err := t.tell(ctx, time.Since(started)); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	t.summary(time.Since(started))
	if len(t.wrong) > 0 {
		return fmt.Errorf("demo: %w", ErrWrong)
	}
	return nil
}

// DevOptions say how Dev differs from Run.
type DevOptions struct {
	Addr    string // of the handler
	Program string // how the reader calls this program
	Log     io.Writer
}

// Dev does the same and leaves it running until ctx ends. The handler's log goes to o.Log once the story is over.
func Dev(ctx context.Context, out io.Writer, o DevOptions) (err error) {
	started := time.Now()
	var level slog.LevelVar
	level.Set(slog.LevelError + 1)
	s, err := build(ctx, o.Addr, slog.New(slog.NewTextHandler(o.Log, &slog.HandlerOptions{Level: &level})))
	if err != nil {
		return fmt.Errorf("dev: %w", err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	folder, err := os.MkdirTemp("", "paidonce-events-")
	if err != nil {
		return fmt.Errorf("dev: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := os.CopyFS(folder, eventFiles); err != nil {
		return fmt.Errorf("dev: %w", err)
	}

	t := &teller{out: out, stage: s}
	if err := t.tell(ctx, time.Since(started)); err != nil {
		return fmt.Errorf("dev: %w", err)
	}
	t.summary(time.Since(started))
	t.leaveRunning(o.Program, filepath.Join(folder, "events", "1_checkout.json"))
	level.Set(slog.LevelInfo)
	<-ctx.Done()
	if len(t.wrong) > 0 {
		return fmt.Errorf("dev: %w", ErrWrong)
	}
	return nil
}
