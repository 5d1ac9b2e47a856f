// Package fakeresend stands in for Resend's POST /emails: it counts the e-mails that would really have gone
// out, and keeps Resend's documented rules of idempotency. It sends nothing.
//
// A key is remembered for 24 hours of the fake's own clock. Within them a repeated request gets the first answer
// again; the same key with another body is 409 invalid_idempotent_request; the same key while the first
// request is still being worked on is 409 concurrent_idempotent_requests. Errors are not remembered.
package fakeresend

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/paidonce/paidonce/internal/testing/fakehttp"
)

const keyLife = 24 * time.Hour

// Email is one that would have gone out.
type Email struct {
	ID   string
	Key  string
	Body string
}

// Server is a running fake. See fakehttp for how to make it misbehave.
type Server struct {
	*fakehttp.Server
	key string

	mu     sync.Mutex
	skip   time.Duration
	held   *fakehttp.Hold // e-mails wait for its end
	emails []Email
	known  map[string]*known
}

// known is what is remembered of a key.
type known struct {
	body  string
	reply string // empty while the work is going on
	until time.Time
}

// Start starts a fake that accepts one API key.
func Start(key string) (*Server, error) {
	s := &Server{key: key, known: map[string]*known{}}
	var err error
	s.Server, err = fakehttp.Start(http.HandlerFunc(s.serve))
	return s, err
}

// Emails are all that went out so far.
func (s *Server) Emails() []Email {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Email(nil), s.emails...)
}

// Skip puts the fake's clock forward.
func (s *Server) Skip(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skip += d
}

// Hold keeps the e-mails that come from now on at work; with nil, none.
func (s *Server) Hold(h *fakehttp.Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = h
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var email struct {
		From    string `json:"from"`
		To      any    `json:"to"`
		Subject string `json:"subject"`
	}
	key := r.Header.Get("Idempotency-Key")
	switch {
	case r.URL.Path != "/emails" || r.Method != http.MethodPost:
		fail(w, http.StatusNotFound, "not_found", "There is no such endpoint")
	case r.Header.Get("Authorization") != "Bearer "+s.key:
		fail(w, http.StatusUnauthorized, "missing_api_key", "The API key is missing or wrong")
	case len(key) > 256:
		fail(w, http.StatusBadRequest, "invalid_idempotency_key", "The key must have 1 to 256 characters")
	case err != nil || json.Unmarshal(body, &email) != nil || email.From == "" || email.To == nil || email.Subject == "":
		fail(w, http.StatusUnprocessableEntity, "missing_required_field", "An e-mail needs from, to and subject")
	default:
		s.accept(w, key, string(body))
	}
}

func (s *Server) accept(w http.ResponseWriter, key, body string) {
	s.mu.Lock()
	now := time.Now().Add(s.skip)
	if k := s.known[key]; key != "" && k != nil && now.Before(k.until) {
		defer s.mu.Unlock()
		switch {
		case k.body != body:
			fail(w, http.StatusConflict, "invalid_idempotent_request", "This key came with another body before")
		case k.reply == "":
			fail(w, http.StatusConflict, "concurrent_idempotent_requests", "The first request with this key is still being worked on")
		default:
			answer(w, http.StatusOK, k.reply)
		}
		return
	}
	k := &known{body: body, until: now.Add(keyLife)}
	s.known[key] = k
	held := s.held
	s.mu.Unlock()

	held.Wait()

	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprintf("49a3999c-0ce1-4ea6-ab68-%012d", len(s.emails)+1)
	s.emails = append(s.emails, Email{ID: id, Key: key, Body: body})
	k.reply = fmt.Sprintf(`{"id":%q}`, id)
	answer(w, http.StatusOK, k.reply)
}

func fail(w http.ResponseWriter, status int, name, message string) {
	answer(w, status, fmt.Sprintf(`{"statusCode":%d,"name":%q,"message":%q}`, status, name, message))
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
