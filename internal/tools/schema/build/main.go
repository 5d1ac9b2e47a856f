// Command build writes the migrations from sql/ and functions/. It is what
// `make migrations` runs, in the root of the repository.
package main

import (
	"fmt"
	"os"

	"github.com/paidonce/paidonce/internal/tools/schema"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "migrations:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	files, err := schema.Generate(os.DirFS(dir))
	if err != nil {
		return err
	}
	touched, err := files.Write(dir)
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
