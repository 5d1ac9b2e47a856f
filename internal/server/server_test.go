package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/server"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestMain(m *testing.M) { pgtest.MainWithoutLeaks(m) }

// running starts a server and returns it with the function that ends it and hands back what Serve returned.
func running(t *testing.T, o server.Options) (*server.Server, func() error) {
	t.Helper()
	o.Addr, o.Logger = "127.0.0.1:0", slog.New(slog.DiscardHandler)
	if o.Webhook == nil {
		o.Webhook = http.NotFoundHandler()
	}
	s, err := server.Listen(t.Context(), o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	stop := func() error { cancel(); return <-done }
	t.Cleanup(cancel)
	return s, stop
}

// get asks without keeping the connection, so that no client of the test outlives it.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func post(url string) (int, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Post(url, "application/json", nil)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

func TestRoutes(t *testing.T) {
	t.Parallel()

	t.Run("given a server when the webhook path is asked then the handler answers whatever the method", func(t *testing.T) {
		t.Parallel()
		s, stop := running(t, server.Options{Webhook: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })})
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			request, err := http.NewRequestWithContext(t.Context(), method, s.URL(), nil)
			require.NoError(t, err)
			response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, http.StatusTeapot, response.StatusCode, method)
		}
		status, _ := get(t, "http://"+s.Addr()+"/webhooks/stripe/more")
		require.Equal(t, http.StatusNotFound, status)
		require.NoError(t, stop())
	})

	for name, tc := range map[string]struct {
		ready  error
		status int
		reason string
	}{
		"given all is well when ready is asked then it is":                         {nil, 200, ""},
		"given no schema when ready is asked then it says to migrate":              {&pgconn.PgError{Code: "42883"}, 503, "the schema is not installed"},
		"given no grant when ready is asked then it says so":                       {&pgconn.PgError{Code: "42501"}, 503, "the login may not execute the function that this needs"},
		"given a database that is away when ready is asked then no name leaks out": {errors.New("dial db.internal: refused"), 503, "the database cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, stop := running(t, server.Options{Ready: func(context.Context) error { return tc.ready }})
			status, body := get(t, "http://"+s.Addr()+"/readyz")
			require.Equal(t, tc.status, status)
			var got struct {
				OK     bool   `json:"ok"`
				Reason string `json:"reason"`
			}
			require.NoError(t, json.Unmarshal([]byte(body), &got))
			require.Equal(t, tc.ready == nil, got.OK)
			require.Equal(t, tc.reason, got.Reason)

			status, _ = get(t, "http://"+s.Addr()+"/healthz")
			require.Equal(t, 200, status, "liveness does not depend on the database")
			require.NoError(t, stop())
		})
	}

	t.Run("given a metrics address when asked then metrics are there and not on the public port", func(t *testing.T) {
		t.Parallel()
		registry := prometheus.NewRegistry()
		registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "a_total", Help: "a"}))
		s, stop := running(t, server.Options{Metrics: registry, MetricsAddr: "127.0.0.1:0"})
		status, body := get(t, "http://"+s.MetricsAddr()+"/metrics")
		require.Equal(t, 200, status)
		require.Contains(t, body, "a_total 0")
		status, _ = get(t, "http://"+s.Addr()+"/metrics")
		require.Equal(t, 404, status)
		require.NoError(t, stop())
	})

	t.Run("given no metrics address when asked then metrics are on the public port", func(t *testing.T) {
		t.Parallel()
		s, stop := running(t, server.Options{Metrics: prometheus.NewRegistry()})
		status, _ := get(t, "http://"+s.Addr()+"/metrics")
		require.Equal(t, 200, status)
		require.NoError(t, stop())
	})
}

func TestServe(t *testing.T) {
	t.Parallel()

	t.Run("given a delivery in flight when stopped then it gets its answer and nothing new is accepted", func(t *testing.T) {
		t.Parallel()
		entered, release := make(chan struct{}), make(chan struct{})
		s, stop := running(t, server.Options{Webhook: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(entered)
			<-release
		})})
		answered := make(chan int, 1)
		go func() {
			status, _ := post(s.URL())
			answered <- status
		}()
		<-entered
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		require.Eventually(t, func() bool { _, err := post("http://" + s.Addr() + "/healthz"); return err != nil },
			5*time.Second, 5*time.Millisecond, "the listener must close")
		select {
		case err := <-stopped:
			require.Fail(t, "stopped while a delivery was in flight", "%v", err)
		default:
		}
		close(release)
		require.Equal(t, 200, <-answered)
		require.NoError(t, <-stopped)
	})

	t.Run("given a delivery longer than the grace when stopped then it is cut and that is an error", func(t *testing.T) {
		t.Parallel()
		entered := make(chan struct{})
		s, stop := running(t, server.Options{Grace: 20 * time.Millisecond, Webhook: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(entered)
			<-r.Context().Done()
		})})
		answered := make(chan error, 1)
		go func() {
			_, err := post(s.URL())
			answered <- err
		}()
		<-entered
		require.ErrorContains(t, stop(), "still in flight after 20ms")
		require.Error(t, <-answered)
	})

	t.Run("given a drain when stopped then deliveries are accepted while not ready", func(t *testing.T) {
		t.Parallel()
		s, stop := running(t, server.Options{Drain: 500 * time.Millisecond, Webhook: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})})
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		require.Eventually(t, func() bool { status, _ := get(t, "http://"+s.Addr()+"/readyz"); return status == 503 },
			400*time.Millisecond, 5*time.Millisecond)
		status, err := post(s.URL())
		require.NoError(t, err)
		require.Equal(t, 200, status)
		require.NoError(t, <-stopped)
	})

	t.Run("given a port in use when listening then the error says so", func(t *testing.T) {
		t.Parallel()
		s, stop := running(t, server.Options{})
		_, err := server.Listen(t.Context(), server.Options{Addr: s.Addr(), Webhook: http.NotFoundHandler()})
		require.ErrorContains(t, err, "address already in use")
		require.NoError(t, stop())
	})
}
