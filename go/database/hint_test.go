package database_test

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/database"
)

func TestHint(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"given a missing table when asked then it says to migrate": {&pgconn.PgError{Code: "42P01"}, "paidonce migrate up"},
		"given an error that a function raised when asked then its own advice is passed on": {
			&pgconn.PgError{Code: "42883", Routine: "exec_stmt_raise", Hint: "Nothing was changed."}, "Nothing was changed."},
		"given a missing function when asked then it names Supabase's way":    {&pgconn.PgError{Code: "42883"}, "supabase db push"},
		"given a missing grant when asked then it names the two roles":        {&pgconn.PgError{Code: "42501"}, "paidonce_edge"},
		"given a wrong password when asked then it says where to look":        {&pgconn.PgError{Code: "28P01"}, "password in DATABASE_URL"},
		"given a refused connection when asked then it says to start it":      {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "start Postgres"},
		"given an unreachable network when asked then it names the pooler":    {&net.OpError{Op: "dial", Err: syscall.ENETUNREACH}, "session pooler"},
		"given an unknown host when asked then it says to check its spelling": {&net.DNSError{Name: "db.example"}, "spelling"},
		"given a lost prepared statement when asked then it names the flag":   {&pgconn.PgError{Code: "26000"}, "--pooler-mode"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, database.Hint(fmt.Errorf("list events: %w", tc.err)), tc.want)
		})
	}

	t.Run("given an error of another kind when asked then it says nothing", func(t *testing.T) {
		t.Parallel()
		require.Empty(t, database.Hint(errors.New("no idea")))
	})
}

func TestRedact(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct{ in, want string }{
		"given a url with a password when redacted then the password is gone": {
			"cannot parse postgres://app:p4:s@/s@db.example:5432/app", "cannot parse postgres://app:***@db.example:5432/app"},
		"given a key/value string when redacted then the password is gone": {
			"host=db password='a b' user=x", "host=db password=*** user=x"},
		"given a signing secret when redacted then only its kind stays": {
			"secret whsec_abcDEF123 refused", "secret whsec_*** refused"},
		"given a stripe key when redacted then only its kind stays": {
			"key sk_test_51abc refused", "key sk_test_*** refused"},
		"given a resend key when redacted then only its kind stays": {
			"key re_AbCd1234_0123456789abcdefABCDEF01 refused", "key re_*** refused"},
		"given the id of a refund when redacted then nothing changes": {
			"refunds re_3NvQ5w2eZvKYlo2C0abcdEFg and re_1NvQ5w2eZvKYlo2C", "refunds re_3NvQ5w2eZvKYlo2C0abcdEFg and re_1NvQ5w2eZvKYlo2C"},
		"given a url without a password when redacted then nothing changes": {
			"postgres://app@db.example:5432/app?sslmode=disable", "postgres://app@db.example:5432/app?sslmode=disable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, database.Redact(tc.in))
		})
	}
}
