package schema

import (
	"testing"

	"github.com/paidonce/paidonce/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
