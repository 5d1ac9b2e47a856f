package fakestripe

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// listed are the lists inside objects: where each can be read whole, by which parameter.
var listed = []struct{ kind, field, collection, by string }{
	{"subscription", "items", "/v1/subscription_items", "subscription"},
	{"invoice", "lines", "", ""},
	{"invoice", "payments", "/v1/invoice_payments", "invoice"},
	{"charge", "refunds", "/v1/refunds", "charge"},
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	account, query := r.Header.Get("Stripe-Account"), r.URL.Query()
	if s.old && slices.Contains(query["expand[]"], "payments") {
		fail(w, http.StatusBadRequest, "invalid_request_error", "", "This property cannot be expanded (payments).")
		return
	}
	if s.old && strings.HasPrefix(r.URL.Path, "/v1/invoice_payments") && r.Header.Get("Stripe-Version") == "" {
		fail(w, http.StatusNotFound, "invalid_request_error", "", "Unrecognized request URL")
		return
	}
	if invoice, ok := strings.CutSuffix(r.URL.Path, "/lines"); ok {
		s.list(w, s.inside(account, strings.TrimPrefix(invoice, "/v1/invoices/"), "lines"), query)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/search") {
		s.search(w, account, r.URL.Path, query.Get("query"))
		return
	}
	for _, l := range listed {
		if l.collection == r.URL.Path && query.Get(l.by) != "" {
			s.list(w, s.inside(account, query.Get(l.by), l.field), query)
			return
		}
	}
	collection, id := split(r.URL.Path)
	if id == "" {
		s.list(w, s.matching(account, kindOf(collection), query), query)
		return
	}
	o := s.stored[account+" "+id]
	live := strings.Contains(s.key, "_live_")
	switch {
	case o == nil || o.gone || o.object["object"] != kindOf(collection):
		fail(w, http.StatusNotFound, "invalid_request_error", "resource_missing", "No such "+kindOf(collection)+": '"+id+"'")
	case o.object["livemode"] != nil && o.object["livemode"] != live && (live || strings.Contains(s.key, "_test_")):
		fail(w, http.StatusNotFound, "invalid_request_error", "resource_missing", "No such "+kindOf(collection)+": '"+id+"'; a similar object exists in the other mode")
	case o.deleted:
		answer(w, http.StatusOK, encode(Object{"id": id, "object": kindOf(collection), "deleted": true}))
	default:
		answer(w, http.StatusOK, encode(s.shown(o.object, query)))
	}
}

// split takes a path apart into its collection and, where it names one object, that object's id.
func split(path string) (collection, id string) {
	at := strings.LastIndexByte(path, '/')
	last := path[at+1:]
	if strings.Contains(last, "_") && !strings.HasSuffix(last, "s") || strings.ContainsAny(last, "0123456789") {
		return path[:at], last
	}
	return path, ""
}

// shown is an object as a GET shows it: of its lists only the beginning, and payments only when asked for.
func (s *Server) shown(o Object, query url.Values) Object {
	o = copied(o)
	for _, l := range listed {
		inner, ok := o[l.field].(Object)
		if !ok || o["object"] != l.kind {
			continue
		}
		data, _ := inner["data"].([]any)
		inner["has_more"] = len(data) > s.inline
		inner["data"] = data[:min(len(data), s.inline)]
	}
	if !slices.Contains(query["expand[]"], "payments") && o["object"] == "invoice" {
		delete(o, "payments")
	}
	return o
}

// inside is the whole of a list inside an object.
func (s *Server) inside(account, id, field string) []any {
	o := s.stored[account+" "+id]
	if o == nil {
		return nil
	}
	inner, _ := o.object[field].(Object)
	data, _ := inner["data"].([]any)
	return data
}

// matching are the objects of a kind whose fields are what the query says.
func (s *Server) matching(account, kind string, query url.Values) []any {
	var all []any
	for _, o := range s.order {
		candidates := []any{o.object}
		if kind == "invoice_payment" {
			candidates = s.inside(account, text(o.object, "id"), "payments")
		}
		for _, c := range candidates {
			if object, _ := c.(Object); o.account == account && !o.gone && !o.deleted && text(object, "object") == kind && fits(object, query) {
				all = append(all, object)
			}
		}
	}
	return all
}

func fits(o Object, query url.Values) bool {
	for name := range query {
		switch name {
		case "limit", "starting_after", "ending_before", "expand[]":
			continue
		}
		outer, inner, nested := strings.Cut(strings.TrimSuffix(name, "]"), "[")
		have := text(o, name)
		if nested {
			object, _ := o[outer].(Object)
			have = text(object, inner)
		}
		if have != query.Get(name) {
			return false
		}
	}
	return true
}

// list answers with one page.
func (s *Server) list(w http.ResponseWriter, all []any, query url.Values) {
	if after := query.Get("starting_after"); after != "" {
		at := slices.IndexFunc(all, func(o any) bool { return text(o.(Object), "id") == after })
		if at < 0 {
			fail(w, http.StatusBadRequest, "invalid_request_error", "resource_missing", "No such object: '"+after+"'")
			return
		}
		all = all[at+1:]
	}
	limit := 10
	if n, err := strconv.Atoi(query.Get("limit")); err == nil {
		limit = n
	}
	limit = min(limit, s.page, len(all))
	answer(w, http.StatusOK, encode(Object{"object": "list", "data": append([]any{}, all[:limit]...), "has_more": limit < len(all)}))
}

// search knows one form of query, metadata['name']:'value', and no object that is too new.
func (s *Server) search(w http.ResponseWriter, account, path, query string) {
	collection := strings.TrimSuffix(path, "/search")
	name, value, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(query, "metadata['"), "'"), "']:'")
	if !ok {
		fail(w, http.StatusBadRequest, "invalid_request_error", "", "The query cannot be read")
		return
	}
	found := []any{}
	for _, o := range s.order {
		metadata, _ := o.object["metadata"].(Object)
		if o.account == account && o.object["object"] == kindOf(collection) && text(metadata, name) == value && s.now().Sub(o.made) >= s.lag {
			found = append(found, o.object)
		}
	}
	answer(w, http.StatusOK, encode(Object{"object": "search_result", "data": found, "has_more": false}))
}

func text(o Object, name string) string {
	value, _ := o[name].(string)
	return value
}
