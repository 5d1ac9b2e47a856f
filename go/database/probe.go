package database

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Kind says what stands between a client and the server.
type Kind int

const (
	Unknown           Kind = iota
	Direct                 // nothing
	SessionPooler          // a pooler that keeps one server connection per client: everything works
	TransactionPooler      // a pooler that changes it: no LISTEN, no session locks, no prepared statements
)

func (k Kind) String() string {
	switch k {
	case Direct:
		return "direct connection"
	case SessionPooler:
		return "session pooler"
	case TransactionPooler:
		return "transaction pooler"
	}
	return "unknown connection"
}

const (
	// notifyWait is how long a notification may take through a session pooler. On a transaction pooler the
	// whole of it is waited for in vain, once per probe.
	notifyWait = time.Second
	// stepWait bounds what a pooler without a free server connection would draw out.
	stepWait = 5 * time.Second
)

// Probe finds out what a URL leads to. It needs nothing but the right to log in; behind a pooler it opens
// two connections, and sends one notification.
func Probe(ctx context.Context, databaseURL string) (Kind, error) {
	config, err := parse(databaseURL)
	if err != nil {
		return Unknown, err
	}
	conn := config.ConnConfig
	conn.DefaultQueryExecMode = pgx.QueryExecModeExec
	tune(conn, "paidonce probe")
	kind, err := probe(ctx, conn)
	if err != nil {
		return Unknown, fmt.Errorf("database: probe: %w", err)
	}
	return kind, nil
}

func probe(ctx context.Context, config *pgx.ConnConfig) (Kind, error) {
	listener, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return Unknown, err
	}
	defer closeSoon(ctx, listener)

	// A pooler makes up the process id that it tells its clients at login.
	var pid uint32
	if err := listener.QueryRow(ctx, "select pg_backend_pid()").Scan(&pid); err != nil {
		return Unknown, err
	}
	if pid == listener.PgConn().PID() {
		return Direct, nil
	}

	channel := "paidonce_probe_" + rand.Text()
	if _, err := listener.Exec(ctx, `listen "`+channel+`"`); err != nil {
		return Unknown, err
	}
	if err := notify(ctx, config, channel); err != nil {
		return Unknown, err
	}
	kind, err := awaited(ctx, listener)
	if err == nil {
		// A transaction pooler keeps the server connection, and it would go on listening.
		_, err = listener.Exec(ctx, `unlisten "`+channel+`"`)
	}
	return kind, err
}

// notify needs a connection of its own: one that notifies itself is answered at once, also by a pooler that
// would never deliver to it while it waits.
func notify(ctx context.Context, config *pgx.ConnConfig, channel string) error {
	ctx, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	sender, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer closeSoon(ctx, sender)
	_, err = sender.Exec(ctx, "select pg_notify($1, '')", channel)
	return err
}

func awaited(ctx context.Context, listener *pgx.Conn) (Kind, error) {
	wait, cancel := context.WithTimeout(ctx, notifyWait)
	defer cancel()
	_, err := listener.WaitForNotification(wait)
	switch {
	case err == nil:
		return SessionPooler, nil
	case ctx.Err() != nil:
		return Unknown, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return TransactionPooler, nil
	}
	return Unknown, err
}

// closeSoon says goodbye to the server, also when ctx is over, but does not wait long for it.
func closeSoon(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}
