// Package deliver plays Stripe: it signs event bodies and posts them to a webhook endpoint, as often and
// as much in parallel as asked, and counts the answers.
//
// Every delivery is signed at the moment it is sent, as Stripe does with each retry, so a long run does
// not grow too old for the receiver's tolerance. Redirects are not followed: to Stripe they are failures.
package deliver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paidonce/paidonce/internal/deliver/stripesign"
)

// Options say where and how to deliver.
type Options struct {
	URLs     []string // at least one; of several, the deliveries take turns
	Secret   string
	Times    int           // deliveries of each event; less than 1 means 1
	Parallel int           // of those at the same time; less than 1 means 1
	Timeout  time.Duration // of one delivery; 0 means 30 s
	OnResult func(Result)  // called once per delivery, never concurrently; may be nil
}

// Result is the end of one delivery.
type Result struct {
	Event   Event
	Number  int // 1 … Times
	Status  int // 0 when there was no answer
	Outcome string
	Took    time.Duration
	Err     error // why there was no answer
}

// OK says whether the sender may consider the event delivered.
func (r Result) OK() bool { return r.Status >= 200 && r.Status < 300 }

// Count is how many deliveries of an event ended in the same way.
type Count struct {
	Status  int    `json:"status"`
	Outcome string `json:"outcome"`
	Times   int    `json:"times"`
}

// Summary is what became of all deliveries of one event.
type Summary struct {
	EventID   string  `json:"event_id"`
	EventType string  `json:"event_type"`
	Delivered int     `json:"delivered"`
	Refused   int     `json:"not_delivered"`
	Answers   []Count `json:"answers"`
	Err       error   `json:"-"` // one of the reasons for having no answer
}

// Run delivers the events one after the other, each Times times. It returns what became of every event it
// came to; the error is only that ctx ended before all were delivered.
func Run(ctx context.Context, events []Event, o Options) ([]Summary, error) {
	o.Times, o.Parallel = max(o.Times, 1), max(o.Parallel, 1)
	o.Parallel = min(o.Parallel, o.Times)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	client := newClient(o)
	defer client.CloseIdleConnections()

	summaries := make([]Summary, 0, len(events))
	for _, e := range events {
		if err := ctx.Err(); err != nil {
			return summaries, fmt.Errorf("deliver: %w", err)
		}
		summaries = append(summaries, deliverAll(ctx, client, e, o))
	}
	if err := ctx.Err(); err != nil {
		return summaries, fmt.Errorf("deliver: %w", err)
	}
	return summaries, nil
}

func newClient(o Options) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = o.Parallel
	return &http.Client{
		Timeout:       o.Timeout,
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func deliverAll(ctx context.Context, client *http.Client, e Event, o Options) Summary {
	numbers := make(chan int)
	results := make(chan Result)
	var workers sync.WaitGroup
	for range o.Parallel {
		workers.Go(func() {
			for n := range numbers {
				results <- deliverOnce(ctx, client, e, n, o)
			}
		})
	}
	go func() {
		defer close(results)
		defer workers.Wait()
		defer close(numbers)
		for n := 1; n <= o.Times && ctx.Err() == nil; n++ {
			numbers <- n
		}
	}()

	var all []Result
	for r := range results {
		if o.OnResult != nil {
			o.OnResult(r)
		}
		all = append(all, r)
	}
	return summarize(e, all)
}

func deliverOnce(ctx context.Context, client *http.Client, e Event, number int, o Options) Result {
	started := time.Now()
	r := Result{Event: e, Number: number}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, o.URLs[(number-1)%len(o.URLs)], bytes.NewReader(e.Body))
	if err != nil {
		r.Err = err
		return r
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	request.Header.Set(stripesign.Header, stripesign.Sign(e.Body, o.Secret, started))
	request.Header.Set("User-Agent", "paidonce-send")
	response, err := client.Do(request)
	r.Took = time.Since(started)
	if err != nil {
		r.Err = err
		return r
	}
	defer response.Body.Close()
	r.Status = response.StatusCode
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	r.Took = time.Since(started)
	if err != nil {
		r.Status, r.Err = 0, fmt.Errorf("read the answer: %w", err)
		return r
	}
	r.Outcome = outcome(body)
	return r
}

// outcome is what the answer says in one short line: its outcome, else its error, else its first line.
func outcome(body []byte) string {
	var answer struct {
		Outcome string `json:"outcome"`
		Error   string `json:"error"`
	}
	if json.Unmarshal(body, &answer) == nil && cmp.Or(answer.Outcome, answer.Error) != "" {
		return cmp.Or(answer.Outcome, answer.Error)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	if runes := []rune(line); len(runes) > 80 {
		return string(runes[:80]) + "…"
	}
	return line
}

func summarize(e Event, results []Result) Summary {
	s := Summary{EventID: e.ID, EventType: e.Type, Answers: []Count{}}
	times := map[Count]int{}
	for _, r := range results {
		if r.OK() {
			s.Delivered++
		} else {
			s.Refused++
		}
		outcome := r.Outcome
		if r.Err != nil {
			s.Err, outcome = r.Err, "no answer"
		}
		times[Count{Status: r.Status, Outcome: outcome}]++
	}
	for c, n := range times {
		c.Times = n
		s.Answers = append(s.Answers, c)
	}
	slices.SortFunc(s.Answers, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Times, b.Times), cmp.Compare(a.Outcome, b.Outcome))
	})
	return s
}
