package refetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/paidonce/paidonce/go/outbox"
)

const (
	pageSize = "100"
	// maxPages bounds a list that does not end.
	maxPages = 200
)

// list is all pages of a list of Stripe's, from the first page's time on.
type list struct {
	data []json.RawMessage
	at   time.Time
}

// all fetches a list from its beginning, or after the last of what is known of it.
func (c *client) all(ctx context.Context, path string, query url.Values, account, version string, known ...json.RawMessage) (list, error) {
	l := list{data: known}
	if l.data == nil {
		l.data = []json.RawMessage{}
	}
	query.Set("limit", pageSize)
	for range maxPages {
		if len(l.data) > 0 {
			last := objectOf(l.data[len(l.data)-1]).text("id")
			if last == "" {
				return list{}, fmt.Errorf("%s goes on after something without an id", path)
			}
			query.Set("starting_after", last)
		}
		s, err := c.get(ctx, path, query, account, version)
		if err != nil {
			return list{}, err
		}
		var page []json.RawMessage
		if err := json.Unmarshal(s.object["data"], &page); err != nil {
			return list{}, fmt.Errorf("%s is no list: %w", path, err)
		}
		if l.at.IsZero() {
			l.at = s.at
		}
		l.data = append(l.data, page...)
		if !s.object.flag("has_more") || len(page) == 0 {
			return l, nil
		}
	}
	return list{}, outbox.Permanent(fmt.Errorf("%s goes on after %d pages", path, maxPages))
}

// complete fetches what is missing of a list inside an object.
func (c *client) complete(ctx context.Context, o object, name string, want request, path string, query url.Values, version string) error {
	inner := objectOf(o[name])
	if inner == nil || !inner.flag("has_more") {
		return nil
	}
	var known []json.RawMessage
	if err := json.Unmarshal(inner["data"], &known); err != nil {
		return fmt.Errorf("%s is no list: %w", name, err)
	}
	l, err := c.all(ctx, path, query, want.Account, version, known...)
	if gone := (*missingError)(nil); errors.As(err, &gone) {
		return fmt.Errorf("%s went while it was being read: %w", name, gone.err) // once more from the start
	}
	if err != nil {
		return err
	}
	inner["data"], inner["has_more"] = encode(l.data), json.RawMessage("false")
	o[name] = encode(inner)
	return nil
}

func objectOf(text json.RawMessage) object {
	var o object
	if json.Unmarshal(text, &o) != nil {
		return nil
	}
	return o
}

// reference reads the id of another object, which may be there whole.
func (o object) reference(name string) string {
	if id := o.text(name); id != "" {
		return id
	}
	return objectOf(o[name]).text("id")
}

func isIntent(id string) bool { return strings.HasPrefix(id, "pi_") }

func quote(text string) json.RawMessage { return encode(text) }

// encode encodes what cannot fail to be encoded: text, flags, and JSON that was decoded before.
func encode(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}
