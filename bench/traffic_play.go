package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/paidonce/paidonce/go/database"
	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/traffic"
)

// taker takes one event; done is false when it has to come again.
type taker func(ctx context.Context, body []byte) (answer string, done bool)

// maxTries is after how many tries an event counts as lost, which no way of taking events may do.
const maxTries = 20

// noAnswer stands for whatever is none: no connection, or nothing that can be read.
const noAnswer = "no answer"

// played is what one delivery of a burst was like.
type played struct {
	took, afterward time.Duration
	times           []time.Duration // of each event, from its first try to its last
	answers         map[string]int  // of each try
	events, wrong   int
	deadlocks       int64
}

// play delivers the events from so many clients at once, each event until it is taken.
func play(ctx context.Context, events []traffic.Event, clients int, take taker) (played, error) {
	p := played{times: make([]time.Duration, len(events)), answers: map[string]int{}, events: len(events)}
	var mu sync.Mutex
	var next, lost atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	for range clients {
		group.Go(func() {
			for ctx.Err() == nil {
				at := int(next.Add(1)) - 1
				if at >= len(events) {
					return
				}
				first, done := time.Now(), false
				for try := 0; !done && ctx.Err() == nil; try++ {
					if try == maxTries {
						lost.Add(1)
						break
					}
					var answer string
					answer, done = take(ctx, events[at].Body)
					mu.Lock()
					p.answers[answer]++
					mu.Unlock()
				}
				p.times[at] = time.Since(first)
			}
		})
	}
	group.Wait()
	p.took = time.Since(began)
	if n := lost.Load(); n > 0 {
		return p, fmt.Errorf("%d events were not taken in %d tries: %v", n, maxTries, p.answers)
	}
	return p, ctx.Err()
}

// playFresh plays a burst to paidonce in a new database, with the product's worker beside it where this version
// has one, and looks at what each customer has then. What is in `before` is delivered first and not measured.
func (b *bench) playFresh(ctx context.Context, overHTTP bool, clients int, before, events []traffic.Event, expected []traffic.Expectation) (p played, err error) {
	const name = "bench_traffic"
	if err := b.trafficDatabase(ctx, name); err != nil {
		return p, err
	}
	owner, err := pgx.Connect(ctx, b.cluster.URL("postgres", name))
	if err != nil {
		return p, err
	}
	defer func() { _ = owner.Close(ctx) }()
	for _, e := range before {
		if _, err := owner.Exec(ctx, call, string(e.Body)); err != nil {
			return p, err
		}
	}
	pool, err := database.Open(ctx, b.cluster.URL("paidonce_edge", name), database.Options{MaxConns: int32(max(16, clients))})
	if err != nil {
		return p, err
	}
	defer pool.Close()
	if err := openAll(ctx, pool, clients); err != nil {
		return p, err
	}
	take := takeBySQL(pool)
	if overHTTP {
		url, stop, err := serve(pool)
		if err != nil {
			return p, err
		}
		defer func() { _ = stop() }()
		client := newClient(clients)
		defer client.CloseIdleConnections()
		take = takeByHTTP(client, url)
	}
	finish, err := b.work(ctx, name)
	if err != nil {
		return p, err
	}
	p, err = play(ctx, events, clients, take)
	if p.afterward, err = finish(err); err != nil {
		return p, err
	}
	pool.Close()
	if p.wrong, err = countWrong(ctx, owner, expected); err != nil {
		return p, err
	}
	_ = owner.Close(ctx)
	p.deadlocks, err = b.deadlocks(ctx, name)
	return p, err
}

// openAll opens the connections that the clients will need, so that logging in is not measured.
func openAll(ctx context.Context, pool *pgxpool.Pool, n int) error {
	for range n {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release() // all at once, at the end
	}
	return nil
}

func (b *bench) trafficDatabase(ctx context.Context, name string) error {
	if err := b.cluster.DropDatabase(ctx, name); err != nil {
		return err
	}
	if _, err := b.copyOf(ctx, name); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, b.cluster.URL("postgres", name))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, traffic.Setup)
	return err
}

// work starts the product's worker, where there is something for it to do. The function it returns ends it,
// does what is left, and says how long that took.
func (b *bench) work(ctx context.Context, name string) (func(error) (time.Duration, error), error) {
	conn, err := pgx.Connect(ctx, b.cluster.URL("postgres", name))
	if err != nil {
		return nil, err
	}
	has, err := traffic.HasWorker(ctx, conn)
	if err != nil || !has {
		_ = conn.Close(ctx)
		return func(err error) (time.Duration, error) { return 0, err }, err
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		traffic.Work(ctx, conn, stop)
	}()
	return func(err error) (time.Duration, error) {
		close(stop)
		<-stopped
		defer func() { _ = conn.Close(ctx) }()
		began := time.Now()
		_, drained := traffic.Drain(ctx, conn)
		return time.Since(began), errors.Join(err, drained)
	}, nil
}

// deadlocks reads Postgres's own count. Connections tell theirs when they end, so it waits for that.
func (b *bench) deadlocks(ctx context.Context, name string) (n int64, err error) {
	conn, err := pgx.Connect(ctx, b.cluster.URL(cluster.Superuser, "postgres"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	for range 100 {
		var open int
		if err := conn.QueryRow(ctx, "select count(*) from pg_stat_activity where datname = $1 and backend_type = 'client backend'", name).Scan(&open); err != nil {
			return 0, err
		}
		if open == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	err = conn.QueryRow(ctx, "select deadlocks from pg_stat_database where datname = $1", name).Scan(&n)
	return n, err
}

// countWrong counts the customers that have not got what they must have.
func countWrong(ctx context.Context, conn *pgx.Conn, expected []traffic.Expectation) (wrong int, err error) {
	const sql = `
		select coalesce(c.user_id, ''),
			coalesce((select string_agg(distinct e.feature, ',') from paidonce.entitlements as e where e.customer_id = c.customer_id), ''),
			coalesce((select sum(b.balance) from paidonce.credit_balances as b where b.customer_id = c.customer_id), 0)::bigint
		from paidonce.customers as c where c.customer_id = $1`
	for _, e := range expected {
		var user, feature string
		var credits int64
		if err := conn.QueryRow(ctx, sql, e.Customer).Scan(&user, &feature, &credits); err != nil {
			return 0, err
		}
		if user != e.User || feature != e.Feature || credits != e.Credits {
			wrong++
		}
	}
	return wrong, nil
}

func takeBySQL(pool *pgxpool.Pool) taker {
	return func(ctx context.Context, body []byte) (string, bool) {
		var raw []byte
		err := pool.QueryRow(ctx, call, string(body)).Scan(&raw)
		var failure *pgconn.PgError
		switch {
		case errors.As(err, &failure):
			return "SQLSTATE " + failure.Code, false
		case err != nil:
			return noAnswer, false
		}
		return answerOf(raw)
	}
}

func takeByHTTP(client *http.Client, url string) taker {
	return func(ctx context.Context, body []byte) (string, bool) {
		status, raw, err := post(ctx, client, url, body)
		switch {
		case err != nil:
			return noAnswer, false
		case status != http.StatusOK:
			return strconv.Itoa(status), false
		}
		return answerOf(raw)
	}
}

func answerOf(raw []byte) (string, bool) {
	outcome, err := outcomeOf(raw)
	if err != nil {
		return noAnswer, false
	}
	return outcome, true
}
