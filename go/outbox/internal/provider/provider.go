// Package provider is what the senders that speak to an HTTP API share: where the API is, and a client for it.
package provider

import (
	"errors"
	"net/http"
	"net/url"
	"time"
)

var errBaseURL = errors.New("the base URL must be an absolute http or https URL")

// BaseURL reads the address of an API: the given one, or usual where none is given.
func BaseURL(given, usual string) (*url.URL, error) {
	if given == "" {
		given = usual
	}
	u, err := url.Parse(given)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errBaseURL // without the address: it may hold a password
	}
	return u, nil
}

// Client has connections of its own, and takes a redirect for the answer: an API that redirects has not done the work.
func Client() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.IdleConnTimeout = 30 * time.Second
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
