// Package server runs the webhook handler as a process of its own: routes, probes, metrics, and a shutdown
// that finishes what is in flight.
//
// Life of a server:
//
//	Listen ──▶ Serve ──ctx ends──▶ draining: /readyz 503, deliveries still accepted (Options.Drain)
//	                                  │
//	                                  ▼
//	                    listener closed, in-flight deliveries finish (Options.Grace) ──▶ Serve returns nil
//	                                  │ grace is over
//	                                  ▼
//	                    connections cut, Serve returns an error; Stripe will deliver those again
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// WebhookPath is where Stripe posts its events.
const WebhookPath = "/webhooks/stripe"

// Options say what to serve and where.
type Options struct {
	Addr        string                      // host:port; port 0 takes a free one
	MetricsAddr string                      // if set, /metrics is served there and not on Addr
	Webhook     http.Handler                // answers WebhookPath, whatever the method; nil means no such path
	Ready       func(context.Context) error // nil means always ready
	Metrics     prometheus.Gatherer         // nil means no /metrics
	Logger      *slog.Logger                // nil means slog.Default()
	Grace       time.Duration               // for what is in flight at shutdown; 0 means 10 s
	Drain       time.Duration               // between saying "not ready" and closing the listener; 0 means none
}

// Server is a set of open listeners, ready to serve.
type Server struct {
	options  Options
	public   *http.Server
	metrics  *http.Server // nil when /metrics is on the public port
	listener net.Listener
	metricsL net.Listener
	draining atomic.Bool
}

// Listen opens the ports, so that a wrong address is an error before anything is served.
func Listen(ctx context.Context, o Options) (*Server, error) {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.Grace = cmp.Or(o.Grace, 10*time.Second)
	s := &Server{options: o}

	var config net.ListenConfig
	var err error
	if s.listener, err = config.Listen(ctx, "tcp", o.Addr); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s.public = s.newHTTPServer(s.routes())
	if o.MetricsAddr != "" && o.Metrics != nil {
		if s.metricsL, err = config.Listen(ctx, "tcp", o.MetricsAddr); err != nil {
			_ = s.listener.Close()
			return nil, fmt.Errorf("listen for metrics: %w", err)
		}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", s.metricsHandler())
		s.metrics = s.newHTTPServer(mux)
	}
	return s, nil
}

// Addr is the address in use, with the real port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// MetricsAddr is where /metrics is, which may be Addr.
func (s *Server) MetricsAddr() string {
	if s.metricsL == nil {
		return s.Addr()
	}
	return s.metricsL.Addr().String()
}

// URL is the full address of the webhook, for a client on this machine.
func (s *Server) URL() string {
	host, port, _ := net.SplitHostPort(s.Addr())
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + WebhookPath
}

// Close gives the ports back without serving. After Serve it does nothing.
func (s *Server) Close() error {
	if s.metricsL != nil {
		_ = s.metricsL.Close()
	}
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

// newHTTPServer sets limits that let no slow client hold a connection for long. The body's own limits and
// the deadline of the work behind it belong to the webhook handler.
func (s *Server) newHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelWarn),
	}
}

// Serve answers requests until ctx ends, then shuts down as the package comment shows. It returns nil when
// everything that was in flight got its answer.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, 2)
	serve := func(server *http.Server, l net.Listener) {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}
	go serve(s.public, s.listener)
	if s.metrics != nil {
		go serve(s.metrics, s.metricsL)
	}

	select {
	case err := <-failed:
		return errors.Join(fmt.Errorf("serve: %w", err), s.shutdown(ctx))
	case <-ctx.Done():
		return s.shutdown(ctx)
	}
}

func (s *Server) shutdown(ctx context.Context) error {
	s.draining.Store(true)
	if s.options.Drain > 0 {
		s.options.Logger.Info("not ready any more, still accepting", "for", s.options.Drain)
		time.Sleep(s.options.Drain)
	}
	s.options.Logger.Info("shutting down: finishing what is in flight", "grace", s.options.Grace)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.Grace)
	defer cancel()

	err := s.public.Shutdown(ctx)
	if s.metrics != nil {
		_ = s.metrics.Close() // scrapers come again
	}
	if err != nil {
		_ = s.public.Close()
		return fmt.Errorf("shut down: still in flight after %s, connections cut: %w", s.options.Grace, err)
	}
	return nil
}

func (s *Server) metricsHandler() http.Handler {
	return promhttp.HandlerFor(s.options.Metrics, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelError),
	})
}
