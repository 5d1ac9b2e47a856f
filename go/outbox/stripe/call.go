package stripe

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	stampName = "paidonce_key"
	keyMark   = "{key}"
	maxKey    = 255
)

// call is a row's payload, read and completed.
type call struct {
	method  string
	path    string
	params  map[string]any
	account string
	version string
	lookup  *lookup
}

// lookup says where to look for what a call makes, and how to know it.
type lookup struct {
	path   string
	params map[string]any
	match  map[string]any
	search bool
}

func readCall(payload []byte, key string) (call, error) {
	var in struct {
		Method  string         `json:"method"`
		Path    string         `json:"path"`
		Params  map[string]any `json:"params"`
		Account string         `json:"account"`
		Version string         `json:"api_version"`
		Stamp   *bool          `json:"stamp"`
		Lookup  *struct {
			Path   string         `json:"path"`
			Params map[string]any `json:"params"`
			Match  map[string]any `json:"match"`
		} `json:"lookup"`
	}
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return call{}, fmt.Errorf("the payload is no call: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return call{}, errors.New("the payload is no call: something follows it")
	}
	c := call{method: in.Method, path: in.Path, params: in.Params, account: in.Account, version: in.Version}
	if c.method == "" {
		c.method = http.MethodPost
	}
	switch {
	case c.method != http.MethodPost && c.method != http.MethodDelete:
		return call{}, fmt.Errorf("the method is POST or DELETE, not %q", c.method)
	case !isPath(c.path):
		return call{}, fmt.Errorf("the path begins with /v1/ and has no query, unlike %q", c.path)
	case len(key) == 0 || len(key) > maxKey:
		return call{}, fmt.Errorf("a key has 1 to %d bytes, not %d", maxKey, len(key))
	}

	endpoint, stamped := endpoints[c.path]
	if in.Stamp != nil {
		stamped = *in.Stamp
	}
	stamped = stamped && c.method == http.MethodPost
	if stamped {
		var err error
		if c.params, err = stamp(c.params, key); err != nil {
			return call{}, err
		}
	}
	switch {
	case in.Lookup != nil:
		c.lookup = &lookup{
			path: in.Lookup.Path, search: strings.HasSuffix(in.Lookup.Path, "/search"),
			params: fill(in.Lookup.Params, key).(map[string]any), match: fill(in.Lookup.Match, key).(map[string]any),
		}
		if !isPath(c.lookup.path) {
			return call{}, fmt.Errorf("the path of a lookup begins with /v1/ and has no query, unlike %q", c.lookup.path)
		}
		if len(c.lookup.match) == 0 && !stamped {
			return call{}, errors.New("a lookup needs a match, since what this call makes is not stamped")
		}
	case stamped && endpoint.search:
		quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(key)
		c.lookup = &lookup{path: c.path + "/search", search: true, params: map[string]any{"query": "metadata['" + stampName + "']:'" + quoted + "'"}}
	}
	if c.lookup != nil && len(c.lookup.match) == 0 {
		c.lookup.match = map[string]any{"metadata": map[string]any{stampName: key}}
	}
	return c, nil
}

func isPath(path string) bool {
	if !strings.HasPrefix(path, "/v1/") || strings.Contains(path, "..") || strings.HasSuffix(path, "/") {
		return false
	}
	return !strings.ContainsFunc(path, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`?#\%"<>`, r)
	})
}

// stamp adds the key to the metadata, unless the payload has something there already.
func stamp(params map[string]any, key string) (map[string]any, error) {
	if params == nil {
		params = map[string]any{}
	}
	metadata, isMap := params["metadata"].(map[string]any)
	if !isMap {
		if there := params["metadata"]; there != nil && there != "" {
			return nil, errors.New("params.metadata is no object")
		}
		metadata = map[string]any{}
	}
	if _, there := metadata[stampName]; !there {
		metadata[stampName] = key
	}
	params["metadata"] = metadata
	return params, nil
}

// fill puts the key where a look-up's strings say {key}.
func fill(value any, key string) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			out[name] = fill(inner, key)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = fill(inner, key)
		}
		return out
	case string:
		return strings.ReplaceAll(v, keyMark, key)
	}
	return value
}

// keyOf is the nth key of a row: its own, then ones made from it.
func keyOf(key string, n int) string {
	if n == 1 {
		return key
	}
	made := fmt.Sprintf("%s:%d", key, n)
	if len(made) <= maxKey {
		return made
	}
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf("%s:%d", hex.EncodeToString(sum[:]), n)
}

// endpoint is what a row can create.
type endpoint struct {
	search bool // Stripe can search for it by metadata
}

// endpoints are those whose POST creates something that takes metadata.
var endpoints = map[string]endpoint{
	"/v1/charges": {search: true}, "/v1/customers": {search: true}, "/v1/invoices": {search: true}, "/v1/payment_intents": {search: true},
	"/v1/prices": {search: true}, "/v1/products": {search: true}, "/v1/subscriptions": {search: true},
	"/v1/billing/credit_grants": {}, "/v1/checkout/sessions": {}, "/v1/coupons": {}, "/v1/credit_notes": {}, "/v1/entitlements/features": {},
	"/v1/invoiceitems": {}, "/v1/payment_links": {}, "/v1/payment_methods": {}, "/v1/payouts": {}, "/v1/plans": {}, "/v1/promotion_codes": {},
	"/v1/quotes": {}, "/v1/refunds": {}, "/v1/setup_intents": {}, "/v1/shipping_rates": {}, "/v1/subscription_items": {},
	"/v1/subscription_schedules": {}, "/v1/tax_rates": {}, "/v1/topups": {}, "/v1/transfers": {},
}
