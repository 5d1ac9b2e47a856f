package schema

import (
	"testing"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
