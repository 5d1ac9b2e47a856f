package server

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/paidonce/paidonce/go/database"
)

// readyTimeout keeps a probe shorter than the patience of those who ask.
const readyTimeout = 2 * time.Second

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	if s.options.Webhook != nil {
		mux.Handle(WebhookPath, s.options.Webhook)
	}
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	if s.options.Metrics != nil && s.options.MetricsAddr == "" {
		mux.Handle("GET /metrics", s.metricsHandler())
	}
	return mux
}

// healthz says that the process lives. It asks nothing else: a database that is away is no reason to restart.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, state{OK: true})
}

// readyz says whether a delivery sent now could be processed. The reason goes to the log in full, and to the
// caller, who may be anybody, only as advice.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		answer(w, http.StatusServiceUnavailable, state{Reason: "shutting down"})
		return
	}
	if s.options.Ready != nil {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := s.options.Ready(ctx); err != nil {
			s.options.Logger.Warn("not ready", "error", database.Redact(err.Error()), "next", database.Hint(err))
			answer(w, http.StatusServiceUnavailable, state{Reason: reason(err), Next: database.Hint(err)})
			return
		}
	}
	answer(w, http.StatusOK, state{OK: true})
}

type state struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
	Next   string `json:"next,omitempty"`
}

func answer(w http.ResponseWriter, status int, s state) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(s) // the client is gone: nobody to tell
}
