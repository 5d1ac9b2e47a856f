package deliver

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Event is one body to deliver, and what could be read of it for the report.
type Event struct {
	ID   string
	Type string
	Body []byte
}

// ErrNoEvents says that a file holds nothing to deliver.
var ErrNoEvents = errors.New("no event in it")

// ErrNoID says that an event has no top-level id that could be replaced.
var ErrNoID = errors.New("no top-level id to replace")

// Parse splits the content of a file into the bodies to deliver, in their order.
//
// A file with one JSON value, or with something that is no JSON at all, is one body: the bytes of the
// file exactly as they are, a final newline included, because the signature is over bytes and a developer
// who wants to see what a changed byte does must be able to send it. In an array of events, and in a
// file with one event a line, each body is the event's own bytes without what separates it from the next.
func Parse(content []byte) ([]Event, error) {
	values, err := split(content)
	if err != nil {
		return []Event{describe(content)}, nil // not JSON: one opaque body, see above
	}
	switch {
	case len(values) == 0:
		return nil, ErrNoEvents
	case len(values) == 1 && values[0][0] != '[':
		return []Event{describe(content)}, nil
	case len(values) == 1:
		var items []json.RawMessage
		if err := json.Unmarshal(values[0], &items); err != nil {
			return nil, fmt.Errorf("read the array: %w", err)
		}
		if len(items) == 0 {
			return nil, ErrNoEvents
		}
		values = items
	}
	events := make([]Event, len(values))
	for i, v := range values {
		events[i] = describe(v)
	}
	return events, nil
}

// split cuts content into its top-level JSON values.
func split(content []byte) ([]json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	var values []json.RawMessage
	for {
		var v json.RawMessage
		err := decoder.Decode(&v)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
}

// describe reads id and type leniently: what it cannot read stays empty, and the receiver is the judge.
func describe(body []byte) Event {
	var fields map[string]json.RawMessage
	e := Event{Body: body}
	if json.Unmarshal(body, &fields) == nil {
		_ = json.Unmarshal(fields["id"], &e.ID)
		_ = json.Unmarshal(fields["type"], &e.Type)
	}
	return e
}

// WithFreshID gives the event an id that was never used before and leaves every other byte as it is.
func WithFreshID(e Event) (Event, error) {
	start, end, ok := topLevelID(e.Body)
	if !ok {
		return e, ErrNoID
	}
	random := make([]byte, 12)
	if _, err := rand.Read(random); err != nil {
		return e, fmt.Errorf("make an id: %w", err)
	}
	id := "evt_" + hex.EncodeToString(random)
	body := make([]byte, 0, len(e.Body)+len(id))
	body = append(body, e.Body[:start]...)
	body = append(body, '"')
	body = append(body, id...)
	body = append(body, '"')
	body = append(body, e.Body[end:]...)
	return Event{ID: id, Type: e.Type, Body: body}, nil
}

// topLevelID finds where the string value of the object's own "id" begins and ends; of several the last
// one counts, as it does for jsonb.
func topLevelID(body []byte) (start, end int, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return 0, 0, false
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return 0, 0, false
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return 0, 0, false
		}
		if key == "id" {
			end = int(decoder.InputOffset())
			start, ok = end-len(value), value[0] == '"'
		}
	}
	return start, end, ok
}
