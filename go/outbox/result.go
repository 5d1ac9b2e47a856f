package outbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// What can become of an attempt. The first four are settle_outbox's words.
const (
	outcomeSent    = "sent"
	outcomeRetry   = "retry"
	outcomeDead    = "dead"
	outcomeRelease = "release"
	outcomeLate    = "late" // the lease was somebody else's by then: nothing was changed
)

const (
	longestError    = 2000 // in bytes, as kept in the row
	longestResponse = 8000
)

// result is what became of a claimed row.
type result struct {
	claimed
	pattern  string
	outcome  string
	response []byte
	err      error
	wait     time.Duration
	took     time.Duration // of the send; 0 when none was tried
}

func release(c claimed, pattern string) result {
	return result{claimed: c, pattern: pattern, outcome: outcomeRelease}
}

func (r result) dead(err error) result {
	r.outcome, r.err = outcomeDead, err
	return r
}

// settlement is a result as settle_outbox reads it.
type settlement struct {
	ID         int64           `json:"id"`
	Token      int64           `json:"lease_token"`
	Outcome    string          `json:"outcome"`
	Response   json.RawMessage `json:"response,omitempty"`
	Error      string          `json:"error,omitempty"`
	RetryAfter float64         `json:"retry_after,omitempty"`
}

func (r result) settlement(plain bool) settlement {
	s := settlement{ID: r.ID, Token: r.token, Outcome: r.outcome, Response: storable(r.response, plain), RetryAfter: r.wait.Seconds()}
	if r.err != nil {
		s.Error = shorten(r.err.Error())
	}
	return s
}

// storable is a response as jsonb can hold it: itself where that is certain, else its beginning as a string.
// The database refuses some valid JSON (\u0000, half of a surrogate pair, endless numbers), and one response
// that it refuses must not keep the others of its batch from being written down.
func storable(response []byte, plain bool) json.RawMessage {
	if len(response) == 0 {
		return nil
	}
	if !plain && len(response) <= longestResponse && json.Valid(response) && utf8.Valid(response) &&
		!bytes.Contains(response, []byte(`\u0000`)) && !bytes.Contains(bytes.ToLower(response), []byte(`\ud`)) {
		return response
	}
	text := clean(string(response[:min(len(response), longestResponse)]))
	if len(response) > longestResponse {
		text += fmt.Sprintf("… (%d bytes)", len(response))
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil // no string fails to be encoded
	}
	return quoted
}

func shorten(text string) string {
	if len(text) > longestError {
		text = text[:longestError] + "…"
	}
	return clean(text)
}

// clean takes out what a text of the database cannot hold.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
