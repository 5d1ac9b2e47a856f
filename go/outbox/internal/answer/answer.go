// Package answer reads the HTTP answers of those whom outbox rows are sent to, and says what an answer means
// for the row: whether it is worth another try, and when.
package answer

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/paidonce/paidonce/go/outbox"
)

// shown is how much of a body an error or a response quotes, in bytes.
const shown = 500

// Answer is what came back: its head, and its body up to a limit.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Cut    bool // the body is longer than the limit
	At     time.Time
}

// Read reads and closes the body of a response, at most limit bytes of it. An error says that the body did
// not arrive whole; the head is in the Answer all the same.
func Read(res *http.Response, limit int64) (Answer, error) {
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	_ = res.Body.Close()
	a := Answer{Status: res.StatusCode, Header: res.Header, Body: body, At: time.Now()}
	if int64(len(body)) > limit {
		a.Body, a.Cut = body[:limit], true
	}
	if err != nil {
		return a, fmt.Errorf("read the answer: %w", err)
	}
	return a, nil
}

// OK says whether the status is one of success.
func (a Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// Passing says whether the status speaks of trouble that may pass by itself: busy, in flight, too many, out
// of order. A redirect counts too: it comes and goes with maintenance, and nothing was done.
func (a Answer) Passing() bool {
	switch a.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return a.Status >= 500 || a.Status >= 300 && a.Status < 400
}

// Text is the body, shortened and made fit to be stored and logged.
func (a Answer) Text() string { return Shorten(string(a.Body)) }

// Fault is the error of an answer that is no success, and what it means for the row.
func (a Answer) Fault(who string) error {
	text := a.Text()
	if text == "" {
		text = "(empty)"
	}
	return a.Judge(a.Passing(), fmt.Errorf("%s answered %d %s: %s", who, a.Status, http.StatusText(a.Status), text))
}

// Judge marks an error: permanent, or to be tried again, then not before the answer says.
func (a Answer) Judge(again bool, err error) error {
	if !again {
		return outbox.Permanent(err)
	}
	if wait, said := a.RetryAfter(); said {
		return outbox.RetryAfter(wait, err)
	}
	return err
}

// RetryAfter reads the header of that name: seconds, or a time, which is measured by the sender's own clock
// where its Date says how late it is there.
func (a Answer) RetryAfter() (time.Duration, bool) {
	value := strings.TrimSpace(a.Header.Get("Retry-After"))
	if value == "" {
		return 0, false
	}
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if math.IsNaN(seconds) || seconds < 0 {
			return 0, false
		}
		return time.Duration(min(seconds, (30*24*time.Hour).Seconds()) * float64(time.Second)), true
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	from := a.At
	if date, err := http.ParseTime(a.Header.Get("Date")); err == nil {
		from = date
	}
	return max(until.Sub(from), 0), true
}

// Shorten cuts a text and replaces what Postgres or a terminal would not take.
func Shorten(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD"))
	if len(text) <= shown {
		return text
	}
	cut := shown
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
