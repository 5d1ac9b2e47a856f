package fakestripe

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/paidonce/paidonce/internal/testing/fakehttp"
)

const keyLife = 24 * time.Hour

// known is what is remembered of a key.
type known struct {
	request string
	status  int // 0 while the work is going on
	reply   string
	until   time.Time
}

// change does a POST or DELETE, a POST once per key.
func (s *Server) change(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	account, key := r.Header.Get("Stripe-Account"), r.Header.Get("Idempotency-Key")
	params, err := url.ParseQuery(string(body))
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_request_error", "", "The body cannot be read")
		return
	}
	if len(key) > 255 {
		fail(w, http.StatusBadRequest, "idempotency_error", "", "The key is too long")
		return
	}
	s.mu.Lock()
	k := &known{request: r.Method + " " + r.URL.Path + " " + string(body), until: s.now().Add(keyLife)}
	if key != "" && r.Method == http.MethodPost {
		if had := s.known[account+" "+key]; had != nil && s.now().Before(had.until) {
			defer s.mu.Unlock()
			switch {
			case had.request != k.request:
				fail(w, http.StatusBadRequest, "idempotency_error", "", "Keys for idempotent requests can only be used with the same parameters they were first used with.")
			case had.status == 0:
				fail(w, http.StatusConflict, "idempotency_error", "idempotency_key_in_use", "There is currently another in-progress request using this key.")
			default:
				w.Header().Set("Idempotent-Replayed", "true")
				answer(w, had.status, had.reply)
			}
			return
		}
		s.known[account+" "+key] = k
	}
	held := s.held
	s.mu.Unlock()

	held.Wait()

	s.mu.Lock()
	defer s.mu.Unlock()
	note := fakehttp.NoteOf(r)
	status, object := http.StatusOK, Object(nil)
	if note != KeepUndone {
		status, object = s.perform(r.Method, r.URL.Path, account, key, params)
	}
	if note == KeepDone || note == KeepUndone {
		status, object = http.StatusInternalServerError, Object{"error": Object{"type": "api_error", "message": "An unknown error occurred"}}
	}
	k.status, k.reply = status, encode(object)
	answer(w, status, k.reply)
}

// perform really does it.
func (s *Server) perform(method, path, account, key string, params url.Values) (int, Object) {
	collection, id := split(path)
	if id == "" {
		o := nested(params)
		o["object"] = kindOf(collection)
		o["id"] = fmt.Sprintf("%s_made%d", strings.TrimSuffix(kindOf(collection), "s"), len(s.order)+1)
		s.put(account, o)
		s.effects = append(s.effects, Effect{method, path, key, account, text(o, "id")})
		return http.StatusOK, o
	}
	had := s.stored[account+" "+id]
	if had == nil || had.gone || had.deleted {
		return http.StatusNotFound, Object{"error": Object{"type": "invalid_request_error", "code": "resource_missing", "message": "No such object: '" + id + "'"}}
	}
	s.effects = append(s.effects, Effect{method, path, key, account, id})
	if method == http.MethodDelete {
		had.gone = true
		return http.StatusOK, Object{"id": id, "object": had.object["object"], "deleted": true}
	}
	maps.Copy(had.object, nested(params))
	return http.StatusOK, had.object
}

// nested reads form names such as metadata[a] or items[0][price] into objects. Lists stay objects with numbers
// for names.
func nested(params url.Values) Object {
	out := Object{}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		steps := strings.Split(strings.ReplaceAll(strings.ReplaceAll(name, "]", ""), "[", "\x00"), "\x00")
		at := out
		for _, step := range steps[:len(steps)-1] {
			inner, ok := at[step].(Object)
			if !ok {
				inner = Object{}
				at[step] = inner
			}
			at = inner
		}
		var value any = params.Get(name)
		if value == "true" || value == "false" {
			value = value == "true"
		}
		at[steps[len(steps)-1]] = value
	}
	return out
}
