package pgtest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// MainWithoutLeaks is Main for packages whose code starts goroutines or holds connections: when all tests
// have passed, it fails the run if any of those are still there.
func MainWithoutLeaks(m *testing.M) {
	if err := open(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	own := goleak.IgnoreCurrent() // the cluster's
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(own); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := shared.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
