// Command build writes the migrations from sql/ and functions/. It is what
// `make migrations` runs.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/paidonce/paidonce/internal/schema"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "migrations:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	dir := flags.String("dir", ".", "the repository")
	name := flags.String("name", "", "name of the next migration, once the first is released")
	check := flags.Bool("check", false, "change nothing, fail where a file is out of date")
	release := flags.Bool("release", false, "freeze every migration there is")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *release {
		last, err := schema.Release(*dir)
		if err == nil {
			fmt.Printf("migrations up to %06d are released and frozen\n", last)
		}
		return err
	}
	plan, err := schema.Make(os.DirFS(*dir), *name)
	if err != nil {
		return err
	}
	if *check {
		stale, err := plan.Stale(os.DirFS(*dir))
		if err == nil && len(stale) > 0 {
			err = errors.New("out of date, run `make migrations`: " + strings.Join(stale, ", "))
		}
		return err
	}
	touched, err := plan.Write(*dir)
	if err != nil {
		return err
	}
	if len(touched) == 0 {
		fmt.Println("migrations are up to date")
	}
	for _, file := range touched {
		fmt.Println("wrote", file)
	}
	return nil
}
