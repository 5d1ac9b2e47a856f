// Package webhook is the HTTP end of paidonce: an http.Handler that checks Stripe's signature over the bytes
// as received and hands the event to the database in one call, select public.handle_stripe_event($1).
//
// The database decides what an event means; the handler only says over HTTP what it decided. Answers:
//
//	processed, duplicate, ignored, parked            200
//	an effect failed (kept, and tried again later)   500
//	not signed, not an event                         400
//	not POST / too large / encoded                   405 / 413 / 415
//	database down, busy or out of date               503 with Retry-After
//
// What a delivery makes possible and does not do itself, a worker does: `paidonce worker`, an outbox.Worker, or
// the handler's own RunDue in the background.
//
// Mount it under a server that bounds how long a request may take to arrive (http.Server.ReadTimeout).
package webhook

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/paidonce/paidonce/go/due"
)

// What an Options field is when left zero.
const (
	DefaultTolerance = 5 * time.Minute
	DefaultTimeout   = 5 * time.Second
	DefaultMaxBody   = 1 << 20
)

// Querier is the one thing that the handler asks of a database. *pgxpool.Pool is one.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Options configures a Handler. Secrets and DB are required.
type Options struct {
	Secrets   []string         // the endpoint's signing secrets; any of them may have signed
	DB        Querier          // see database.Open for a pool that suits it
	Tolerance time.Duration    // how far a signature's time may be off, in the past or in the future
	Timeout   time.Duration    // for the database, all retries included
	MaxBody   int64            // in bytes
	Logger    *slog.Logger     // default slog.Default()
	Metrics   *Metrics         // none when nil
	Now       func() time.Time // default time.Now; judges signatures only
}

// Handler receives Stripe's webhooks. It is safe for concurrent use.
type Handler struct {
	secrets   []string
	db        Querier
	tolerance time.Duration
	timeout   time.Duration
	maxBody   int64
	log       *slog.Logger
	metrics   *Metrics
	now       func() time.Time
	due       *due.Runner
}

// New refuses to build a handler that could accept unsigned events.
func New(o Options) (*Handler, error) {
	secrets, err := cleanSecrets(o.Secrets)
	switch {
	case err != nil:
		return nil, err
	case o.DB == nil:
		return nil, errors.New("webhook: no database")
	case o.Tolerance < 0, o.Timeout < 0, o.MaxBody < 0:
		return nil, errors.New("webhook: tolerance, timeout and body limit cannot be negative")
	}
	h := &Handler{
		secrets: secrets, db: o.DB, tolerance: o.Tolerance, timeout: o.Timeout, maxBody: o.MaxBody,
		log: o.Logger, metrics: o.Metrics, now: o.Now,
	}
	if h.tolerance == 0 {
		h.tolerance = DefaultTolerance
	}
	if h.timeout == 0 {
		h.timeout = DefaultTimeout
	}
	if h.maxBody == 0 {
		h.maxBody = DefaultMaxBody
	}
	if h.log == nil {
		h.log = slog.Default()
	}
	if h.now == nil {
		h.now = time.Now
	}
	h.due = &due.Runner{DB: h.db, Logger: h.log}
	return h, nil
}

// ServeHTTP answers one delivery.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	res := h.receive(w, r)
	took := time.Since(start)
	h.metrics.observe(res, took)
	h.record(r.Context(), res, took)
	res.write(w)
	if res.status == http.StatusOK {
		h.due.Wake()
	}
}

// RunDue runs due work until ctx ends, for a server that has no worker beside it: start it once, as
// go handler.RunDue(ctx). It looks after each delivery that was answered with 200 and every second, and uses up to
// two connections of Options.DB. An item that is under way when ctx ends is broken off, and stays due. Errors are
// logged and tried again; it returns nil. No request waits for it.
func (h *Handler) RunDue(ctx context.Context) error { return h.due.Run(ctx) }

func (h *Handler) receive(w http.ResponseWriter, r *http.Request) result {
	if r.Method != http.MethodPost {
		return refuseUnread(http.StatusMethodNotAllowed, "only POST is answered here")
	}
	if encoded(r.Header) {
		return refuseUnread(http.StatusUnsupportedMediaType, "content encoding is not supported")
	}
	sig, err := readSignature(r.Header)
	if err != nil {
		return refuseUnread(http.StatusBadRequest, err.Error())
	}
	if r.ContentLength > h.maxBody {
		return refuseUnread(http.StatusRequestEntityTooLarge, "body is too large")
	}
	// The limit also holds for a body that does not state its length; memory grows with what has arrived.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return refuseUnread(http.StatusRequestEntityTooLarge, "body is too large")
	} else if err != nil {
		return refuseUnread(http.StatusBadRequest, "body did not arrive whole")
	}
	if err := sig.verify(body, h.secrets, h.now(), h.tolerance); err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	e, err := readEvent(body)
	if err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}

	// Once it is verified, an event is worked on to the end even if the sender hangs up: stopping halfway
	// would only make Stripe deliver it again. The timeout alone bounds the work.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), h.timeout)
	defer cancel()
	return h.deliver(ctx, e)
}

// encoded says whether the body is compressed or otherwise wrapped. Stripe signs and sends plain bytes;
// unpacking what somebody else sends would only open the door to a small body that becomes a huge one.
func encoded(header http.Header) bool {
	for _, line := range header.Values("Content-Encoding") {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.TrimSpace(name)
			if name != "" && !strings.EqualFold(name, "identity") {
				return true
			}
		}
	}
	return false
}
