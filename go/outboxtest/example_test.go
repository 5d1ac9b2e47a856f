package outboxtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outboxtest"
)

func Example() {
	send := func(_ context.Context, a outbox.Action) (json.RawMessage, error) {
		var sms struct{ To string }
		if json.Unmarshal(a.Payload, &sms) != nil || sms.To == "" {
			return nil, outbox.Permanent(errors.New("no number"))
		}
		if sms.To == "busy" {
			return nil, outbox.RetryAfter(time.Minute, errors.New("busy"))
		}
		return nil, nil
	}
	for _, payload := range []string{`{"to": "+43 1"}`, `{"to": "busy"}`, `{}`} {
		_, err := send(context.Background(), outboxtest.Action("sms.welcome", "evt_1:sms.welcome", payload))
		fmt.Println(outboxtest.Verdict(err))
	}
	// Output:
	// sent
	// retry after 1m0s
	// dead
}
