package main

import (
	"context"
	"os"
	"os/exec"

	"github.com/paidonce/paidonce/internal/demo"
)

type devCommand struct {
	Addr string `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Where the handler listens; port 0 takes a free one (${default})."`
}

func (devCommand) Help() string {
	return `Does what "paidonce demo" does and leaves it running until Ctrl-C. Prints the webhook's URL, the signing
secret made for this run, how to open the database, and a line that sends an event.`
}

func (c devCommand) Run(ctx context.Context, io streams) error {
	ctx, stop := withHangup(ctx)
	defer stop()
	return demo.Dev(ctx, io.out, demo.DevOptions{Addr: c.Addr, Program: programName(), Log: io.err})
}

// programName is what the reader can type to run this program again.
func programName() string {
	self, err := os.Executable()
	if err != nil {
		return "paidonce"
	}
	if found, err := exec.LookPath("paidonce"); err == nil && found == self {
		return "paidonce"
	}
	return self
}
