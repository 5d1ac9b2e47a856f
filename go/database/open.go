// Package database opens connections to Postgres the way paidonce needs them, finds out what stands
// between it and the server, and says what to do about an error.
//
// A transaction pooler (Supabase's port 6543, PgBouncer with pool_mode = transaction) hands every transaction
// to another server connection. Prepared statements get lost there, so Open uses pgx's exec mode; LISTEN and
// session locks get lost too, silently, which is what Probe is for.
package database

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	transactionPoolerPort = 6543 // Supabase's
	connectTimeout        = 5 * time.Second
	defaultMaxConns       = 10
	maxIdle               = 5 * time.Minute
)

// Options says how Open should differ from what the URL tells it.
type Options struct {
	PoolerMode      bool   // the URL leads to a transaction pooler, though not on port 6543
	MaxConns        int32  // default 10, or the URL's pool_max_conns
	ApplicationName string // default "paidonce", or the URL's application_name
}

// Open makes a pool for a URL (or a key=value string) without connecting yet: a database that is down makes
// the first query fail, not the start. Waiting for a connection ends with the context of the query.
//
// In pooler mode, which port 6543 and Prisma's pgbouncer=true also switch on, nothing is prepared on the
// server. A default_query_exec_mode in the URL has the last word.
func Open(ctx context.Context, databaseURL string, o Options) (*pgxpool.Pool, error) {
	config, err := parse(databaseURL)
	if err != nil {
		return nil, err
	}
	conn := config.ConnConfig
	if _, prisma := conn.RuntimeParams["pgbouncer"]; prisma {
		o.PoolerMode = true
	}
	tune(conn, o.ApplicationName)
	if (o.PoolerMode || conn.Port == transactionPoolerPort) && !strings.Contains(databaseURL, "default_query_exec_mode") {
		conn.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	switch {
	case o.MaxConns > 0:
		config.MaxConns = o.MaxConns
	case !strings.Contains(databaseURL, "pool_max_conns"):
		config.MaxConns = defaultMaxConns
	}
	if !strings.Contains(databaseURL, "pool_max_conn_idle_time") {
		config.MaxConnIdleTime = maxIdle
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return pool, nil
}

func tune(conn *pgx.ConnConfig, applicationName string) {
	delete(conn.RuntimeParams, "pgbouncer") // meant for Prisma; a server does not know it
	if applicationName == "" {
		applicationName = "paidonce"
	}
	if conn.RuntimeParams["application_name"] == "" {
		conn.RuntimeParams["application_name"] = applicationName
	}
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = connectTimeout
	}
}

// parse reads the URL. Its errors do not repeat it: where a URL is broken, nobody can say which part of it
// is the password, and the parsers' own messages quote the place where they stopped.
func parse(databaseURL string) (*pgxpool.Config, error) {
	if strings.TrimSpace(databaseURL) == "" {
		return nil, errors.New("database: the URL is empty: set DATABASE_URL")
	}
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, errors.New("database: the URL cannot be used: " + complaint(databaseURL, err))
	}
	return config, nil
}

// complaint is the parser's own reason where the URL is whole and only a setting in it is wrong, and a
// description of a good URL everywhere else.
func complaint(databaseURL string, err error) string {
	const quoteEnd = "`: "
	const form = "expected postgres://user:password@host:5432/database, with special characters in the password percent-encoded"
	u, urlErr := url.Parse(databaseURL)
	text := err.Error()
	at := strings.LastIndex(text, quoteEnd) // the text before it is the URL
	if urlErr != nil || u.Scheme == "" || at < 0 {
		return form
	}
	reason := text[at+len(quoteEnd):]
	if strings.HasPrefix(reason, "failed to parse") {
		return form
	}
	password, _ := u.User.Password()
	for _, secret := range []string{password, u.Query().Get("password"), u.Query().Get("sslpassword")} {
		if secret != "" && strings.Contains(reason, secret) {
			return form
		}
	}
	return reason
}
