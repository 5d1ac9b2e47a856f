package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/deliver/stripesign"
)

const secret = "whsec_test"

// untouched is where the database would be in tests of what must never reach it.
type untouched struct{ t *testing.T }

func (u untouched) QueryRow(_ context.Context, _ string, args ...any) pgx.Row {
	u.t.Errorf("the database was called with %v", args)
	return noRow{}
}

type noRow struct{}

func (noRow) Scan(...any) error { return pgx.ErrNoRows }

func newHandler(t *testing.T, o webhook.Options) *webhook.Handler {
	t.Helper()
	if o.DB == nil {
		o.DB = untouched{t}
	}
	if o.Secrets == nil {
		o.Secrets = []string{secret}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h, err := webhook.New(o)
	require.NoError(t, err)
	return h
}

func signed(body string) *http.Request {
	return unsigned(body, stripesign.Sign([]byte(body), secret, time.Now()))
}

func unsigned(body string, signatures ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/webhooks/stripe", bytes.NewReader([]byte(body)))
	for _, s := range signatures {
		r.Header.Add(stripesign.Header, s)
	}
	return r
}

type reply struct {
	Status   int
	Header   http.Header
	Received bool   `json:"received"`
	Outcome  string `json:"outcome"`
	Error    string `json:"error"`
}

// serve gives r to h and reads the answer, which is always JSON.
func serve(t *testing.T, h http.Handler, r *http.Request) reply {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return readReply(t, w.Result())
}

func readReply(t *testing.T, res *http.Response) reply {
	t.Helper()
	defer func() { _ = res.Body.Close() }()
	out := reply{Status: res.StatusCode, Header: res.Header}
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "application/json", res.Header.Get("Content-Type"))
	require.NoError(t, json.Unmarshal(body, &out), string(body))
	return out
}

// logged collects a handler's log as JSON lines.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(l, nil)) }

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// only returns the one line that a delivery must leave.
func (l *logged) only(t *testing.T) map[string]any {
	t.Helper()
	lines := bytes.Split(bytes.TrimSpace([]byte(l.text())), []byte("\n"))
	require.Len(t, lines, 1, l.text())
	var line map[string]any
	require.NoError(t, json.Unmarshal(lines[0], &line))
	return line
}
