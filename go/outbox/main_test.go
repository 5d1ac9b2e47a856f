package outbox_test

import (
	"os"
	"testing"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childDatabase) != "" { // this test binary is run as a worker process
		beWorker()
		return
	}
	pgtest.MainWithoutLeaks(m)
}
