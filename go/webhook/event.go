package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// reservedKey is the top-level key by which the handler tells the database about replaced characters.
const reservedKey = "paidonce"

var (
	errNotJSON     = errors.New("body is not a JSON object")
	errReservedKey = errors.New("body has the reserved key " + reservedKey)
)

// event is a verified body made ready for jsonb.
type event struct {
	body string
	// For the log only, so that a delivery can be found there although the database did not answer.
	id, kind string
}

// readEvent checks that raw is one JSON object and repairs it. What kind of object it is, the database decides.
//
// A body that brings the reserved key is refused: Stripe does not send it, so nobody needs it to be let
// through, and a number of replaced characters that somebody made up cannot be stored.
func readEvent(raw []byte) (event, error) {
	raw = bytes.Trim(raw, " \t\r\n")
	if len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
		return event{}, errNotJSON
	}
	body, replaced := repair(raw)
	e := event{}
	if err := e.readTop(body); err != nil {
		return e, err
	}
	if replaced == 0 {
		e.body = string(body)
		return e, nil
	}
	// There is a string in it, so the object is not empty and the comma is right.
	e.body = fmt.Sprintf(`%s,%q:{"repaired":%d}}`, body[:len(body)-1], reservedKey, replaced)
	return e, nil
}

// readTop walks over body, a valid JSON object, looking only at the strings of its top level.
func (e *event) readTop(body []byte) error {
	depth, atKey, key := 0, false, ""
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			depth++
			atKey = depth == 1
		case '}', ']':
			depth--
		case ',':
			atKey = depth == 1
		case '"':
			token := body[i:stringEnd(body, i)]
			i += len(token) - 1
			if depth != 1 {
				continue
			}
			if !atKey {
				e.note(key, token)
				continue
			}
			atKey, key = false, unquote(token)
			if key == reservedKey {
				return errReservedKey
			}
		}
	}
	return nil
}

func (e *event) note(key string, value []byte) {
	switch key {
	case "id":
		e.id = clip(unquote(value))
	case "type":
		e.kind = clip(unquote(value))
	}
}

// stringEnd returns the index after the closing quote of the string that begins at start.
func stringEnd(body []byte, start int) int {
	i := start + 1
	for ; body[i] != '"'; i++ {
		if body[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func unquote(token []byte) string {
	if bytes.IndexByte(token, '\\') < 0 {
		return string(token[1 : len(token)-1])
	}
	var s string
	_ = json.Unmarshal(token, &s) // a valid string: it cannot fail
	return s
}

// clip bounds what a sender can put into a log line or a label of it.
func clip(s string) string {
	const limit = 200
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}
