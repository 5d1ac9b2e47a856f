package refetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/internal/answer"
)

const (
	// maxBody is far above any object of Stripe's, and any page of a hundred.
	maxBody = 32 << 20
	// keyPause is how soon a key that was refused is tried again.
	keyPause = time.Minute
	// pause429 is how long a 429 without Retry-After stops all requests.
	pause429 = time.Second
)

// client asks Stripe.
type client struct {
	http  *http.Client
	base  *url.URL
	key   string
	limit *limiter
}

// object is a JSON object whose values are left as they came.
type object map[string]json.RawMessage

func (o object) text(name string) string {
	var value string
	if json.Unmarshal(o[name], &value) != nil {
		return ""
	}
	return value
}

func (o object) flag(name string) bool { return string(o[name]) == "true" }

// snapshot is an object as Stripe states it at a time of Stripe's clock.
type snapshot struct {
	object object
	at     time.Time
}

// missingError says that Stripe knows of no such object, or no longer, since a time of its clock.
type missingError struct {
	at  time.Time
	err error
}

func (e *missingError) Error() string { return e.err.Error() }

// unknownParamError says that this account's version of the API does not know a parameter.
type unknownParamError struct{ error }

func (c *client) get(ctx context.Context, path string, query url.Values, account, version string) (snapshot, error) {
	if err := c.limit.wait(ctx); err != nil {
		return snapshot{}, err
	}
	u := c.base.JoinPath(path)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return snapshot{}, outbox.Permanent(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("User-Agent", "paidonce")
	if account != "" {
		req.Header.Set("Stripe-Account", account)
	}
	if version != "" {
		req.Header.Set("Stripe-Version", version)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return snapshot{}, fmt.Errorf("no answer from Stripe: %w", err)
	}
	got, err := answer.Read(res, maxBody)
	if err != nil {
		return snapshot{}, fmt.Errorf("%d, but no whole answer from Stripe: %w", got.Status, err)
	}
	at, dateErr := http.ParseTime(got.Header.Get("Date"))
	if !got.OK() {
		return snapshot{}, c.fault(got, at, account)
	}
	s := snapshot{at: at}
	if err := json.Unmarshal(got.Body, &s.object); err != nil || s.object == nil {
		return snapshot{}, fmt.Errorf("%d, but no JSON object from Stripe (%d bytes)", got.Status, len(got.Body))
	}
	if dateErr != nil {
		return snapshot{}, errors.New("the answer has no Date header, so it cannot be told how new it is; is there a proxy that removes it?")
	}
	return s, nil
}

// fault reads Stripe's error and says what is to be done about it.
func (c *client) fault(got answer.Answer, at time.Time, account string) error {
	var said struct {
		Error struct {
			Type    string `json:"type"`
			Code    string `json:"code"`
			Param   string `json:"param"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(got.Body, &said) != nil || said.Error.Type == "" {
		err := fmt.Errorf("stripe answered %d %s", got.Status, http.StatusText(got.Status))
		if got.Status == http.StatusTooManyRequests {
			return c.slowDown(got, err)
		}
		return got.Judge(true, err)
	}
	e := said.Error
	err := fmt.Errorf("stripe answered %d %s: %s", got.Status, strings.TrimSpace(e.Type+" "+e.Code), answer.Shorten(strings.ReplaceAll(e.Message, c.key, c.name())))
	switch {
	case got.Status == http.StatusTooManyRequests:
		return c.slowDown(got, err)
	case got.Status == http.StatusUnauthorized:
		return outbox.RetryAfter(keyPause, fmt.Errorf("%w (STRIPE_SECRET_KEY, %s, is not accepted: has it been rolled?)", err, c.name()))
	case got.Status == http.StatusForbidden && account != "":
		return outbox.RetryAfter(keyPause, fmt.Errorf("%w (the key %s may not read this, or has no access to the connected account %s)", err, c.name(), account))
	case got.Status == http.StatusForbidden:
		return outbox.RetryAfter(keyPause, fmt.Errorf("%w (the restricted key %s lacks a permission: give it read access to what is named here)", err, c.name()))
	case got.Status == http.StatusNotFound && e.Code == "resource_missing" && strings.Contains(e.Message, "similar object exists in"):
		return outbox.RetryAfter(keyPause, fmt.Errorf("%w (the key %s is of the other mode than the object)", err, c.name()))
	case got.Status == http.StatusNotFound && e.Code == "resource_missing" && !at.IsZero():
		return &missingError{at, err}
	case got.Status == http.StatusBadRequest && strings.HasPrefix(e.Param, "expand"), got.Status == http.StatusBadRequest && strings.Contains(e.Message, "cannot be expanded"):
		return unknownParamError{err}
	}
	return got.Judge(got.Passing(), err)
}

// slowDown stops every request for as long as Stripe asks.
func (c *client) slowDown(got answer.Answer, err error) error {
	wait, said := got.RetryAfter()
	if !said {
		wait = pause429
	}
	c.limit.pause(wait)
	return outbox.RetryAfter(wait, err)
}

// name tells which kind of key it is.
func (c *client) name() string {
	kind := "key"
	for _, prefix := range []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"} {
		if strings.HasPrefix(c.key, prefix) {
			kind = prefix
		}
	}
	return kind + "…"
}

// livemode is the key's mode, where the key tells.
func (c *client) livemode() (live, known bool) {
	switch {
	case strings.Contains(c.key, "_live_"):
		return true, true
	case strings.Contains(c.key, "_test_"):
		return false, true
	}
	return false, false
}
