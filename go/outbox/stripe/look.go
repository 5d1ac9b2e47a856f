package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/paidonce/paidonce/go/outbox"
)

// look looks for what the call makes. It returns what is to be kept of it, or nil when it is certain that it
// is not there.
func (s *sender) look(ctx context.Context, c call) (json.RawMessage, error) {
	got := s.request(ctx, http.MethodGet, c.lookup.path, c.lookup.params, c, "")
	switch {
	case got.status == http.StatusNotFound && got.code == "resource_missing":
		return nil, nil
	case got.err != nil && got.status >= 400 && got.status < 500:
		return nil, got.faultOfLook()
	case got.err != nil:
		return nil, fmt.Errorf("look it up: %w", got.err)
	}
	candidates := []any{got.object}
	more := false
	switch got.object["object"] {
	case "list", "search_result":
		candidates, _ = got.object["data"].([]any)
		more, _ = got.object["has_more"].(bool)
	}
	for _, candidate := range candidates {
		if contains(candidate, c.lookup.match) {
			got.object, _ = candidate.(map[string]any)
			return got.response(0, true), nil
		}
	}
	if more {
		return nil, outbox.Permanent(errors.New("stripe: look it up: the list goes on, and nothing on its first page is it; narrow the lookup down"))
	}
	return nil, nil
}

// faultOfLook keeps what a 4xx of the look-up means: the row itself may be in order.
func (r reply) faultOfLook() error {
	r.err = fmt.Errorf("look it up: %w", r.err)
	return r.fault()
}
