// Command paidonce takes Stripe's webhooks into Postgres, each event exactly once, and shows what became of them.
//
// Exit codes, of every command:
//
//	0  it is done, or what was asked is so
//	1  it failed, or what was asked is not so
//	2  wrong usage or missing configuration: nothing was tried
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/paidonce/paidonce/go/webhook"
)

const description = `One Stripe event, one business effect, however many times it arrives.

Start with "paidonce demo": it needs an installed Postgres and nothing else.

Settings come from flags or from the environment variable named beside them.
Exit codes: 0 done, or so; 1 failed, or not so; 2 wrong usage or missing configuration.`

type cli struct {
	Demo    demoCommand    `cmd:"" help:"Show everything on a throwaway Postgres, and check it."`
	Dev     devCommand     `cmd:"" help:"The same, left running until Ctrl-C."`
	Serve   serveCommand   `cmd:"" help:"Receive Stripe's webhooks at POST /webhooks/stripe."`
	Worker  workerCommand  `cmd:"" help:"Send outbox rows: e-mails, calls, refetches."`
	Migrate migrateCommand `cmd:"" help:"Install, inspect or remove the schema."`
	Init    initCommand    `cmd:"" help:"Write the migrations into an existing Supabase project."`
	Send    sendCommand    `cmd:"" help:"Sign the events of a file and deliver them, as Stripe would."`
	Events  eventsCommand  `cmd:"" help:"See which events came and what became of them; run them again."`
	Outbox  outboxCommand  `cmd:"" help:"See what is sent, waits or was given up; send it again."`

	Version kong.VersionFlag `help:"Print the version."`
}

// streams are where a command writes: results to out, everything else to err.
type streams struct {
	out io.Writer
	err io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for an orderly end; a second one takes its usual, immediate course.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr}))
}

func run(ctx context.Context, args []string, io streams) int {
	parser, err := kong.New(&cli{},
		kong.Name("paidonce"),
		kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.Vars{
			"version":   version(),
			"timeout":   webhook.DefaultTimeout.String(),
			"tolerance": webhook.DefaultTolerance.String(),
			"maxbody":   fmt.Sprint(webhook.DefaultMaxBody),
		},
		kong.Writers(io.out, io.err),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(io),
	)
	if err != nil {
		return report(io.err, err) // a mistake in the declarations above
	}
	command, err := parser.Parse(args)
	if err != nil {
		return report(io.err, misuse{err: err, next: "run `paidonce --help`, or `paidonce COMMAND --help`"})
	}
	return report(io.err, command.Run())
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "paidonce (unknown version)"
	}
	return "paidonce " + cmp.Or(info.Main.Version, "(devel)") + " " + info.GoVersion
}
