package database

import (
	"errors"
	"io/fs"
	"net"
	"regexp"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	migrateFirst = "the schema is not there yet: run `paidonce migrate up` (or `supabase db push` in a Supabase project)"
	notAllowed   = "this login may not do that: the commands that read or change events need DATABASE_URL to be the owner of schema paidonce " +
		"(role postgres on Supabase); `paidonce serve` needs a login that is a member of role paidonce_edge, and a worker one of role paidonce_worker"
)

// Hint says what to do about err, or "" when there is nothing better to say than the error itself. The table
// lives here, once, so that the same cause is always answered by the same advice.
func Hint(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return forState(pgErr)
	}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return "the host name in DATABASE_URL is not known here: check its spelling and this machine's network"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing answers at that address: start Postgres, or correct host and port in DATABASE_URL"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "there is no route to that address: Supabase's direct host speaks IPv6 only, so use the session pooler's URL (port 5432) from an IPv4 network"
	case errors.Is(err, fs.ErrPermission):
		return "run it as a user who may read and write that path"
	case mentions(err, "tls", "SSL"):
		return "if the server does not speak TLS add ?sslmode=disable to DATABASE_URL, if it insists on it add ?sslmode=require"
	}
	return ""
}

func forState(e *pgconn.PgError) string {
	// A function of the kit raised it and says itself what to do; its code may be that of somebody's effect.
	if e.Routine == "exec_stmt_raise" {
		return e.Hint
	}
	switch e.Code {
	case "3F000", "42P01", "42883", "42703":
		return migrateFirst
	case "42501":
		return notAllowed
	case "28P01", "28000":
		return "Postgres refused the login: check user and password in DATABASE_URL"
	case "3D000":
		return "there is no such database on that server: correct the name at the end of DATABASE_URL, or create it"
	case "53300":
		return "the server has no connection left: close some, or point DATABASE_URL at the pooler"
	case "55P03", "57014":
		return "somebody holds the lock that this needs: look at pg_stat_activity, then try again"
	case "25006":
		return "that server is read only: point DATABASE_URL at the primary"
	case "26000", "42P05":
		return "this looks like a transaction pooler: add --pooler-mode, or use a direct or session connection"
	}
	return ""
}

func mentions(err error, words ...string) bool {
	for _, w := range words {
		if strings.Contains(err.Error(), w) {
			return true
		}
	}
	return false
}

var (
	urlPassword    = regexp.MustCompile(`(://[^:/?#@\s]*):\S*@`) // greedy: a password may hold an unescaped @ or /
	paramPassword  = regexp.MustCompile(`(?i)(\bpassword\s*=\s*)('[^']*'|[^\s&'"]+)`)
	signingSecrets = regexp.MustCompile(`\b(whsec|sk_live|sk_test|rk_live|rk_test)_[A-Za-z0-9+/=_-]+`)
	// Resend's keys have a second underscore, Stripe's refunds (re_3Nabc…) do not: those are worth seeing.
	resendKeys = regexp.MustCompile(`\bre_[A-Za-z0-9]{6,}_[A-Za-z0-9]{16,}`)
)

// Redact takes passwords and keys out of a text that is about to be shown. Nothing in paidonce puts
// them there on purpose; this is the last door, for texts that come from libraries and servers.
func Redact(s string) string {
	s = urlPassword.ReplaceAllString(s, "$1:***@")
	s = paramPassword.ReplaceAllString(s, "$1***")
	s = resendKeys.ReplaceAllString(s, "re_***")
	return signingSecrets.ReplaceAllString(s, "${1}_***")
}
