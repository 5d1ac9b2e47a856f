// Package outboxtest helps to test a sender of your own without a worker and without a database: make an action,
// send it, and ask what a worker would make of the error.
package outboxtest

import (
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/paidonce/paidonce/go/outbox"
)

// Action is a row on its first attempt, made now: a name such as sms.welcome, an idempotency key, a payload.
func Action(name, key, payload string) outbox.Action {
	now := time.Now()
	return outbox.Action{ID: 1, EventID: "evt_1", Name: name, Payload: json.RawMessage(payload), IdempotencyKey: key, Attempt: 1, FirstAttemptAt: now, CreatedAt: now}
}

// Verdict says what a worker makes of a sender's error: "sent", "dead", "retry", or "retry after" and a time.
func Verdict(err error) string {
	if err == nil {
		return "sent"
	}
	permanent := reflect.TypeOf(outbox.Permanent(errors.New("")))
	later := reflect.TypeOf(outbox.RetryAfter(0, errors.New("")))
	verdict := "retry"
	for e := err; e != nil; e = errors.Unwrap(e) {
		switch reflect.TypeOf(e) {
		case permanent:
			return "dead"
		case later:
			verdict = "retry after " + time.Duration(reflect.ValueOf(e).FieldByName("after").Int()).String()
		}
	}
	return verdict
}
