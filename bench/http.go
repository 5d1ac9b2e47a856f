package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/deliver/stripesign"
)

const secret = "whsec_bench"

// overHTTP puts the real handler before a database, or before what is compared with it: signature check, JSON
// clean-up, answer and all are the same for every variant, and so is the client, which signs each event.
func (b *bench) overHTTP(db webhook.Querier) (deliverer, error) {
	url, stop, err := serve(db)
	if err != nil {
		return nil, err
	}
	client := newClient(slices.Max(b.clients))
	b.closers = append(b.closers, stop, func() error { client.CloseIdleConnections(); return nil })
	return func(ctx context.Context, d delivery) (string, error) {
		status, answer, err := post(ctx, client, url, []byte(d.body))
		if err != nil {
			return "", err
		}
		if status != http.StatusOK {
			return "", fmt.Errorf("answered %d: %s", status, answer)
		}
		return outcomeOf(answer)
	}, nil
}

// serve starts the handler on a port of its own.
func serve(db webhook.Querier) (url string, stop func() error, err error) {
	handler, err := webhook.New(webhook.Options{Secrets: []string{secret}, DB: db, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), server.Close, nil
}

func newClient(conns int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns}}
}

// post signs a body, sends it and returns the answer.
func post(ctx context.Context, client *http.Client, url string, body []byte) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set(stripesign.Header, stripesign.Sign(body, secret, time.Now()))
	res, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

func outcomeOf(raw []byte) (string, error) {
	var d struct{ Outcome string }
	if err := json.Unmarshal(raw, &d); err != nil {
		return "", err
	}
	return d.Outcome, nil
}

// decided is a row with a decision in it, for a handler that asks something else than paidonce.
type decided struct {
	outcome string
	err     error
}

func (d decided) Scan(to ...any) error {
	if d.err != nil {
		return d.err
	}
	raw, ok := to[0].(*[]byte)
	if !ok {
		return errors.New("the handler reads the decision in another way now")
	}
	*raw = fmt.Appendf(nil, `{"outcome":%q,"event_id":"","event_type":"","attempt":1}`, d.outcome)
	return nil
}

// QueryRow makes handcoded stand in for the database.
func (h handcoded) QueryRow(ctx context.Context, _ string, args ...any) pgx.Row {
	outcome, err := h.handle(ctx, args[0].(string))
	return decided{outcome, err}
}

type bareDB struct{ pool *pgxpool.Pool }

func bareQuerier(pool *pgxpool.Pool) webhook.Querier { return bareDB{pool} }

// QueryRow inserts the body and leaves it at that. The id is read in the cheapest way there is.
func (b bareDB) QueryRow(ctx context.Context, _ string, args ...any) pgx.Row {
	body := args[0].(string)
	tag, err := b.pool.Exec(ctx, "insert into bench.bare (event_id, payload) values ($1, $2::jsonb) on conflict (event_id) do nothing", idIn(body), body)
	if err == nil && tag.RowsAffected() == 0 {
		return decided{"duplicate", nil}
	}
	return decided{"processed", err}
}

// idIn knows where the bench's own events have their id.
func idIn(body string) string {
	_, rest, _ := strings.Cut(body, `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}
