package database_test

import (
	"testing"

	"github.com/paidonce/paidonce/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.MainWithoutLeaks(m) }
