// Package stripesign signs event bodies the way Stripe does, for `paidonce send`, the demo and the tests.
package stripesign

import (
	"time"

	"github.com/stripe/stripe-go/v76/webhook"
)

// Header is the name of the HTTP header that carries the signature.
const Header = "Stripe-Signature"

// Sign returns the value of Header for body, signed with secret at the given time. The secret is taken as it
// is, spaces and all; a zero time means now.
func Sign(body []byte, secret string, at time.Time) string {
	return webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
		Payload:   body,
		Secret:    secret,
		Timestamp: at,
	}).Header
}
