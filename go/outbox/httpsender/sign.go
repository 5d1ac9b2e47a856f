package httpsender

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/paidonce/paidonce/go/outbox"
)

const secretPrefix = "whsec_"

// signingKeys reads secrets the way receivers' libraries do.
func signingKeys(secrets string) ([][]byte, error) {
	var keys [][]byte
	for secret := range strings.SplitSeq(secrets, ",") {
		secret = strings.TrimSpace(secret)
		if secret == "" {
			continue
		}
		encoded, prefixed := strings.CutPrefix(secret, secretPrefix)
		if !prefixed {
			keys = append(keys, []byte(secret))
			continue
		}
		key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
		if err != nil || len(key) == 0 {
			return nil, errors.New("a secret that begins with whsec_ must go on in base64")
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// sign sets the headers of Standard Webhooks. The id must not hold a full stop, since that is what separates
// it from the time in what is signed; keys do hold some.
func (s *sender) sign(header http.Header, a outbox.Action) {
	sum := sha256.Sum256([]byte(a.IdempotencyKey))
	id := "msg_" + hex.EncodeToString(sum[:16])
	timestamp := strconv.FormatInt(s.now().Unix(), 10)
	var signatures []string
	for _, key := range s.keys {
		signatures = append(signatures, signature(key, id, timestamp, a.Payload))
	}
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", timestamp)
	if len(signatures) > 0 {
		header.Set("Webhook-Signature", strings.Join(signatures, " "))
	}
}

func signature(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
