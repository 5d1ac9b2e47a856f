// Package fakehttp is what the stand-ins for outside services have in common: a real HTTP server on
// 127.0.0.1 that notes every request and can be told to misbehave.
package fakehttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Fault is one way to misbehave towards the requests that it fits.
type Fault struct {
	Method string // any when empty
	Path   string // how the path begins; any when empty
	Times  int    // how many requests; 0 means 1, less means all

	Delay  time.Duration     // before anything happens
	Status int               // answered instead of doing the work, with Header and Body
	Header map[string]string // set on the answer in any case
	Body   string
	Drop   bool          // the work is done, but the connection ends without a reply
	Slow   time.Duration // between the halves of the reply's body
	Note   string        // for the service itself; see NoteOf
}

// Request is what has been received.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   string
}

// Server is a running server.
type Server struct {
	serve    http.Handler
	listener net.Listener
	server   *http.Server
	done     chan struct{}

	mu       sync.Mutex
	faults   []*Fault
	requests []Request
}

// Start serves h on a free port of 127.0.0.1.
func Start(h http.Handler) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{serve: h, listener: listener, done: make(chan struct{})}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.done)
		_ = s.server.Serve(listener)
	}()
	return s, nil
}

// URL is the server's address.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Close ends the server and every request in it.
func (s *Server) Close() error {
	err := s.server.Close()
	<-s.done
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Break adds a fault. Of several that fit a request, the earliest is taken.
func (s *Server) Break(f Fault) {
	if f.Times == 0 {
		f.Times = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Mend takes all faults away.
func (s *Server) Mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Requests are all requests so far whose method and path begin like these.
func (s *Server) Requests(method, path string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Request
	for _, r := range s.requests {
		if strings.HasPrefix(r.Method, method) && strings.HasPrefix(r.Path, path) {
			all = append(all, r)
		}
	}
	return all
}

type noteKey struct{}

// NoteOf is the note of the fault that a request has met.
func NoteOf(r *http.Request) string {
	note, _ := r.Context().Value(noteKey{}).(string)
	return note
}

// ServeHTTP notes a request, and answers it well or badly.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f := s.take(r, string(body))
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-r.Context().Done():
			return
		}
	}
	reply := &recorder{header: http.Header{}, status: http.StatusOK}
	if f.Status != 0 {
		reply.status = f.Status
		reply.body.WriteString(f.Body)
	} else {
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.serve.ServeHTTP(reply, r.WithContext(context.WithValue(r.Context(), noteKey{}, f.Note)))
	}
	if f.Drop {
		panic(http.ErrAbortHandler)
	}
	for name, values := range reply.header {
		w.Header()[name] = values
	}
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(reply.status)
	text := reply.body.Bytes()
	if f.Slow > 0 {
		half := len(text) / 2
		_, _ = w.Write(text[:half])
		_ = http.NewResponseController(w).Flush()
		select {
		case <-time.After(f.Slow):
		case <-r.Context().Done():
			return
		}
		text = text[half:]
	}
	_, _ = w.Write(text)
}

// take notes a request and picks the fault that fits it.
func (s *Server) take(r *http.Request, body string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header.Clone(), Body: body})
	for _, f := range s.faults {
		if f.Times == 0 || (f.Method != "" && f.Method != r.Method) || !strings.HasPrefix(r.URL.Path, f.Path) {
			continue
		}
		f.Times = max(f.Times-1, -1)
		return *f
	}
	return Fault{}
}

// recorder holds a reply back until it is known what becomes of it.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

// Hold keeps work from ending until it is released.
type Hold struct {
	once    sync.Once
	reached chan struct{}
	over    chan struct{}
}

// NewHold makes one.
func NewHold() *Hold { return &Hold{reached: make(chan struct{}), over: make(chan struct{})} }

// Wait returns when the hold is over. A nil one holds nothing.
func (h *Hold) Wait() {
	if h == nil {
		return
	}
	h.once.Do(func() { close(h.reached) })
	<-h.over
}

// Reached is closed when something is held.
func (h *Hold) Reached() <-chan struct{} { return h.reached }

// Release ends it.
func (h *Hold) Release() { close(h.over) }
