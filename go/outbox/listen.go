package outbox

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgxlisten"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/go/internal/again"
)

const (
	channel        = "paidonce_outbox" // as in paidonce.notify_outbox
	reconnectDelay = time.Second
	pulseWait      = 5 * time.Second // for the heartbeat's notice to come back
)

// listenConfig reads the URL of the LISTEN connection; database.Open's errors do not repeat passwords.
func listenConfig(url string) (*pgx.ConnConfig, error) {
	if url == "" {
		return nil, nil
	}
	pool, err := database.Open(context.Background(), url, database.Options{MaxConns: 1, ApplicationName: "paidonce listen"})
	if err != nil {
		return nil, fmt.Errorf("outbox: LISTEN connection: %w", err)
	}
	defer pool.Close()
	config := pool.Config().ConnConfig
	// A connection that only waits would not notice for a long time that the other end is gone.
	dialer := &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
		Control:         boundUnacknowledged,
	}
	config.DialFunc = dialer.DialContext
	return config, nil
}

// listener turns notices into wake-ups. Nothing depends on it but how soon a row is found.
type listener struct {
	*run
	pulse string        // a channel of its own, to hear itself on
	heard chan struct{} // one slot

	mu       sync.Mutex
	conn     *pgx.Conn // the latest
	ready    bool      // LISTEN is in place on it
	connects int
}

// listen wakes all that look for rows up when some come, until ctx ends.
func (r *run) listen(ctx context.Context) {
	if r.listenConfig == nil {
		r.log.Info("outbox: polling only, since no LISTEN connection is configured", "every", r.options.PollInterval)
		return
	}
	l := &listener{run: r, pulse: channel + "_pulse_" + strings.ToLower(rand.Text()), heard: make(chan struct{}, 1)}
	if !l.works(ctx) {
		return
	}
	source := &pgxlisten.Listener{Connect: l.connect, LogError: l.failed, ReconnectDelay: reconnectDelay}
	source.Handle(channel, notices{l})
	source.Handle(l.pulse, pgxlisten.HandlerFunc(func(context.Context, *pgconn.Notification, *pgx.Conn) error {
		signal(l.heard)
		return nil
	}))
	var beating sync.WaitGroup
	beating.Go(func() { l.beat(ctx) })
	_ = source.Listen(ctx) // only says that ctx has ended
	beating.Wait()
	r.options.Metrics.listens(false)
	if conn, _ := l.latest(); conn != nil {
		within(conn.PgConn().CleanupDone(), time.Second)
	}
}

// works finds out whether notices can come this way at all. A transaction pooler takes LISTEN and never
// delivers anything.
func (l *listener) works(ctx context.Context) bool {
	for {
		kind, err := database.Probe(ctx, l.options.ListenURL)
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil:
			l.failed(ctx, err)
			if !again.Sleep(ctx, reconnectDelay) {
				return false
			}
		case kind == database.TransactionPooler:
			l.log.Warn("outbox: LISTEN DOES NOT WORK HERE: the LISTEN connection leads through a transaction pooler, which loses every notice. "+
				"Rows are found by polling only. Use a direct connection or a session pooler (Supabase: port 5432) for it.",
				"every", l.options.PollInterval)
			return false
		default:
			return true
		}
	}
}

func (l *listener) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, l.listenConfig)
	if err != nil {
		return nil, err
	}
	l.options.Metrics.connected()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, l.ready = conn, false
	l.connects++
	return conn, nil
}

// failed is told of everything that goes wrong; pgxlisten connects again by itself.
func (l *listener) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	l.ready = false
	l.mu.Unlock()
	l.options.Metrics.listens(false)
	l.options.Metrics.listenError()
	l.trouble.Report("listen", err)
}

// notices wakes the dispatcher up, without ever making the connection wait.
type notices struct{ *listener }

func (n notices) HandleNotification(context.Context, *pgconn.Notification, *pgx.Conn) error {
	n.options.Metrics.wokenUp()
	n.wakeAll()
	return nil
}

// HandleBacklog runs each time that LISTEN has been put in place: rows may have come while it was not.
func (n notices) HandleBacklog(context.Context, string, *pgx.Conn) error {
	n.mu.Lock()
	n.ready = true
	connects := n.connects
	n.mu.Unlock()
	n.options.Metrics.listens(true)
	n.trouble.Over("listen")
	n.log.Info("outbox: listening", "connection", connects)
	n.wakeAll()
	return nil
}

// beat proves every now and then that notices arrive, by giving one to itself over another connection. A
// connection whose other end has vanished behind a proxy is silent and looks no different from an idle one.
func (l *listener) beat(ctx context.Context) {
	var unready *pgx.Conn // had no LISTEN in place a beat ago
	for again.Sleep(ctx, l.options.Heartbeat) {
		conn, ready := l.latest()
		switch {
		case conn == nil:
			continue
		case !ready && conn != unready:
			unready = conn
			continue
		case ready && l.alive(ctx), ctx.Err() != nil:
			continue
		}
		if now, _ := l.latest(); now == conn {
			l.log.Warn("outbox: the LISTEN connection is dead although nothing said so, connecting again")
			_ = conn.PgConn().Conn().Close() // makes whoever reads from it return with an error
		}
	}
}

func (l *listener) latest() (conn *pgx.Conn, ready bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn, l.ready
}

// alive is also true when that cannot be found out.
func (l *listener) alive(ctx context.Context) bool {
	select {
	case <-l.heard:
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, pulseWait)
	defer cancel()
	if _, err := l.options.DB.Exec(ctx, "select pg_notify($1::text, '')", l.pulse); err != nil {
		return true
	}
	return within(l.heard, min(pulseWait, l.options.Heartbeat))
}

func (r *run) wakeAll() {
	r.due.Wake()
	for _, l := range r.lanes {
		signal(l.wake)
	}
}

// signal fills a channel of one slot.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
