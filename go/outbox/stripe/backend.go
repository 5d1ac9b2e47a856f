package stripe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	stripego "github.com/stripe/stripe-go/v76"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/internal/answer"
	"github.com/paidonce/paidonce/go/outbox/internal/provider"
)

const maxBody = 4 << 20

// newBackend makes stripe-go's backend without retries of its own: the outbox does them, and sees each.
func newBackend(base string) stripego.Backend {
	client := provider.Client()
	client.Transport = observer{client.Transport}
	return stripego.GetBackendWithConfig(stripego.APIBackend, &stripego.BackendConfig{
		URL:               stripego.String(base),
		MaxNetworkRetries: stripego.Int64(0),
		EnableTelemetry:   stripego.Bool(false),
		LeveledLogger:     &stripego.LeveledLogger{Level: stripego.LevelNull},
		HTTPClient:        client,
	})
}

// observer notes the head of each answer: stripe-go keeps it to itself where the body is not JSON.
type observer struct{ http.RoundTripper }

type headKey struct{}

type head struct {
	status int
	header http.Header
}

func (o observer) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := o.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if h, ok := r.Context().Value(headKey{}).(*head); ok {
		h.status, h.header = res.StatusCode, res.Header
	}
	res.Body = limited{io.LimitReader(res.Body, maxBody), res.Body}
	return res, nil
}

type limited struct {
	io.Reader
	io.Closer
}

// reply is what Stripe said to one request.
type reply struct {
	head
	at       time.Time
	object   map[string]any
	code     string
	kind     string
	replayed bool
	err      error
}

// do makes the call under a key.
func (s *sender) do(ctx context.Context, c call, key string) reply {
	return s.request(ctx, c.method, c.path, c.params, c, key)
}

func (s *sender) request(ctx context.Context, method, path string, params map[string]any, c call, key string) reply {
	got := reply{}
	p := &stripego.Params{Context: context.WithValue(ctx, headKey{}, &got.head)}
	if key != "" {
		p.IdempotencyKey = &key
	}
	if c.account != "" {
		p.StripeAccount = &c.account
	}
	if c.version != "" {
		p.Headers = http.Header{"Stripe-Version": {c.version}}
	}
	var raw stripego.APIResource
	err := s.backend.CallRaw(method, path, s.key, encode(params), p, &raw)
	got.at = time.Now()
	got.replayed = got.header.Get("Idempotent-Replayed") == "true"

	var said *stripego.Error
	switch {
	case got.status == 0 && err != nil:
		got.err = fmt.Errorf("stripe: no answer: %w", err)
	case errors.As(err, &said):
		got.code, got.kind = string(said.Code), string(said.Type)
		got.err = fmt.Errorf("stripe: %d %s%s: %s (request %s)", got.status, got.kind, coded(got.code), answer.Shorten(strings.ReplaceAll(said.Msg, s.key, "…")), got.header.Get("Request-Id"))
	case got.status < 200 || got.status > 299:
		got.err = fmt.Errorf("stripe: %d %s, and no error that can be read", got.status, http.StatusText(got.status))
	case err != nil:
		got.err = fmt.Errorf("stripe: %d, but the answer did not arrive whole: %w", got.status, err)
	default:
		decoder := json.NewDecoder(bytes.NewReader(raw.LastResponse.RawJSON))
		decoder.UseNumber()
		if err := decoder.Decode(&got.object); err != nil {
			got.err = fmt.Errorf("stripe: %d, but the answer cannot be read: %w", got.status, err)
		}
	}
	return got
}

func coded(code string) string {
	if code == "" {
		return ""
	}
	return " " + code
}

// fault says what an error means for the row.
func (r reply) fault() error {
	a := answer.Answer{Status: r.status, Header: r.header, At: r.at}
	switch {
	case r.status == 0 || a.OK(): // an answer that was lost is given again under the same key
		return r.err
	case r.kind == string(stripego.ErrorTypeIdempotency) && r.status == http.StatusBadRequest:
		return outbox.Permanent(fmt.Errorf("%w (this key came with other params before)", r.err))
	}
	return a.Judge(a.Passing() || r.header.Get("Stripe-Should-Retry") == "true", r.err)
}

// response is what is kept of an answer.
func (r reply) response(n int, found bool) json.RawMessage {
	text, err := json.Marshal(struct {
		Status   int    `json:"status"`
		ID       string `json:"id,omitempty"`
		Object   string `json:"object,omitempty"`
		Request  string `json:"request_id,omitempty"`
		Replayed bool   `json:"replayed,omitempty"`
		Found    bool   `json:"found,omitempty"`
		Key      int    `json:"key,omitempty"`
	}{r.status, text(r.object, "id"), text(r.object, "object"), answer.Shorten(r.header.Get("Request-Id")), r.replayed, found, n})
	if err != nil {
		return nil
	}
	return text
}

func text(object map[string]any, name string) string {
	value, _ := object[name].(string)
	return answer.Shorten(value)
}
