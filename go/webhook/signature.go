package webhook

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76/webhook"
)

const signatureHeader = "Stripe-Signature"

var (
	errNotSigned = errors.New("no Stripe-Signature header")
	errBadHeader = errors.New("unreadable Stripe-Signature header")
	errForged    = errors.New("signature does not match")
	errTooOld    = errors.New("signature is too old")
	errTooEarly  = errors.New("signature is from the future")
)

// signature is the Stripe-Signature header together with the one time that it states.
type signature struct {
	header string
	at     int64
}

// readSignature reads the header without the body, so that a request with none is turned away unread.
//
// Several header lines are joined by commas, which is what HTTP says they mean. stripe-go takes the last of
// several t= values; to be sure that the time checked here is the time that is signed, a header whose t=
// values differ is refused.
func readSignature(header http.Header) (signature, error) {
	lines := header.Values(signatureHeader)
	s := signature{header: strings.Join(lines, ",")}
	if s.header == "" {
		return signature{}, errNotSigned
	}
	found := false
	for pair := range strings.SplitSeq(s.header, ",") {
		value, ok := strings.CutPrefix(pair, "t=")
		if !ok {
			continue
		}
		at, err := strconv.ParseInt(value, 10, 64)
		if err != nil || (found && at != s.at) {
			return signature{}, errBadHeader
		}
		s.at, found = at, true
	}
	if !found {
		return signature{}, errBadHeader
	}
	return s, nil
}

// verify checks the signature over the bytes as received against every secret, then its age on both sides.
//
// stripe-go does the cryptography and reads the v1 values; no other scheme counts. It knows only signatures
// that are too old, and only by the system's clock, so both sides of the window are checked here, by one
// clock. The signature comes first: only then does "too old" in the log mean a wrong clock or a replay.
func (s signature) verify(body []byte, secrets []string, now time.Time, tolerance time.Duration) error {
	err := errForged
	for _, secret := range secrets {
		err = webhook.ValidatePayloadIgnoringTolerance(body, s.header, secret)
		if err == nil {
			break
		}
	}
	switch {
	case errors.Is(err, webhook.ErrInvalidHeader):
		return errBadHeader
	case err != nil:
		return errForged
	case s.at < now.Add(-tolerance).Unix():
		return errTooOld
	case s.at > now.Add(tolerance).Unix():
		return errTooEarly
	}
	return nil
}
