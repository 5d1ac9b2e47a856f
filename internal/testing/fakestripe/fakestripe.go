// Package fakestripe stands in for Stripe's v1 API: it holds objects that it answers GETs from, page by page,
// and does POSTs once per idempotency key, as Stripe documents it. It knows no business rules.
//
// Kept rules: a key is remembered for 24 hours of the fake's own clock, per connected account; a repeated request
// gets the first answer again, a kept 500 too, with Idempotent-Replayed; other params under the same key are a
// 400 idempotency_error; the same key while the first request is being worked on is a 409
// idempotency_key_in_use. DELETE takes no keys. Search knows an object only after a while.
package fakestripe

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/paidonce/paidonce/internal/testing/fakehttp"
)

// Notes for a fakehttp.Fault that a POST meets: a 500 that is kept for its key, the work done or not.
const (
	KeepDone   = "answer 500 and keep it, the work is done"
	KeepUndone = "answer 500 and keep it, the work is not done"
)

// Object is one of Stripe's objects, as decoded from JSON.
type Object = map[string]any

// Server is a running fake. See fakehttp for how to make it misbehave.
type Server struct {
	*fakehttp.Server
	key string

	mu      sync.Mutex
	stored  map[string]*stored // by account and id
	order   []*stored
	known   map[string]*known // by account and idempotency key
	effects []Effect
	settings
}

type settings struct {
	skip     time.Duration  // how far the fake's clock is ahead
	skew     time.Duration  // how far its Date header is off
	inline   int            // how much of a list is shown inside its object
	page     int            // most on a page
	lag      time.Duration  // of search
	held     *fakehttp.Hold // POSTs wait for its end
	old      bool           // the account's version knows no invoice payments
	onAnswer func(path string)
}

// stored is an object and what became of it.
type stored struct {
	account string
	object  Object
	made    time.Time
	deleted bool // answered as {deleted: true}
	gone    bool // answered with 404
}

// Effect is something that a POST or DELETE really did.
type Effect struct {
	Method  string
	Path    string
	Key     string
	Account string
	ID      string
}

// Start starts a fake that accepts one API key.
func Start(key string) (*Server, error) {
	s := &Server{
		key: key, stored: map[string]*stored{}, known: map[string]*known{},
		settings: settings{inline: 10, page: 100},
	}
	var err error
	s.Server, err = fakehttp.Start(http.HandlerFunc(s.serve))
	return s, err
}

// Put gives an account (the platform itself when empty) an object, or replaces it.
func (s *Server) Put(account string, o Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(account, copied(o))
}

func (s *Server) put(account string, o Object) {
	id, _ := o["id"].(string)
	at := account + " " + id
	if had := s.stored[at]; had != nil {
		had.object, had.deleted, had.gone = o, false, false
		return
	}
	s.stored[at] = &stored{account: account, object: o, made: s.now()}
	s.order = append(s.order, s.stored[at])
}

// Change sets fields of an object.
func (s *Server) Change(account, id string, fields Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.stored[account+" "+id].object, copied(fields))
}

// Delete deletes an object: from then on it is answered as {deleted: true}, or, when gone, with a 404.
func (s *Server) Delete(account, id string, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.stored[account+" "+id]
	o.deleted, o.gone = !gone, gone
}

// Object is the current state of an object, nil when there is none.
func (s *Server) Object(account, id string) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.stored[account+" "+id]; o != nil {
		return copied(o.object)
	}
	return nil
}

// Effects is everything that was really done.
func (s *Server) Effects() []Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Effect(nil), s.effects...)
}

// Skip puts the fake's clock forward.
func (s *Server) Skip(d time.Duration) { s.set(func() { s.skip += d }) }

// Skew puts the Date header of its answers off.
func (s *Server) Skew(d time.Duration) { s.set(func() { s.skew = d }) }

// Pages sets how much of a list is shown inside its object, and most on a page.
func (s *Server) Pages(inline, page int) { s.set(func() { s.inline, s.page = inline, page }) }

// SearchLag sets how long search does not know a new object.
func (s *Server) SearchLag(d time.Duration) { s.set(func() { s.lag = d }) }

// Hold keeps the POSTs that come from now on at work; with nil, none.
func (s *Server) Hold(h *fakehttp.Hold) { s.set(func() { s.held = h }) }

// Old makes the account's version one of before 2025-03-31.basil.
func (s *Server) Old() { s.set(func() { s.old = true }) }

// OnAnswer sets what is called after an answer has been made and before it is sent.
func (s *Server) OnAnswer(f func(path string)) { s.set(func() { s.onAnswer = f }) }

func (s *Server) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *Server) now() time.Time { return time.Now().Add(s.skip) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	w.Header().Set("Date", s.now().Add(s.skew).UTC().Format(http.TimeFormat))
	then := s.onAnswer
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", fmt.Sprintf("req_%d", time.Now().UnixNano()))
	switch {
	case r.Header.Get("Authorization") != "Bearer "+s.key:
		fail(w, http.StatusUnauthorized, "invalid_request_error", "", "Invalid API Key provided")
	case r.Method == http.MethodGet:
		s.get(w, r)
	default:
		s.change(w, r)
	}
	if then != nil {
		then(r.URL.Path)
	}
}

func fail(w http.ResponseWriter, status int, kind, code, message string) {
	e := Object{"type": kind, "message": message}
	if code != "" {
		e["code"] = code
	}
	answer(w, status, encode(Object{"error": e}))
}

func answer(w http.ResponseWriter, status int, body string) {
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // values come from JSON
	}
	return string(text)
}

func copied(o Object) Object {
	var out Object
	if err := json.Unmarshal([]byte(encode(o)), &out); err != nil {
		panic(err)
	}
	return out
}

// kindOf names the objects of a collection: /v1/checkout/sessions holds checkout.session.
func kindOf(collection string) string {
	name := strings.ReplaceAll(strings.TrimPrefix(collection, "/v1/"), "/", ".")
	if name == "entitlements.active_entitlements" {
		return "entitlements.active_entitlement"
	}
	return strings.TrimSuffix(name, "s")
}
