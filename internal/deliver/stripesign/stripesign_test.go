package stripesign_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76/webhook"

	"github.com/paidonce/paidonce/internal/deliver/stripesign"
)

func TestSign(t *testing.T) {
	t.Parallel()
	body := []byte(`{"id":"evt_1"}`)

	t.Run("given a body and a secret when signed then stripe-go accepts exactly that body and secret", func(t *testing.T) {
		header := stripesign.Sign(body, "whsec_a", time.Now())
		require.NoError(t, webhook.ValidatePayload(body, header, "whsec_a"))
		require.Error(t, webhook.ValidatePayload(body, header, "whsec_b"))
		require.Error(t, webhook.ValidatePayload([]byte(`{"id":"evt_2"}`), header, "whsec_a"))
	})

	t.Run("given a time when signed then the header states that second", func(t *testing.T) {
		header := stripesign.Sign(body, "whsec_a", time.Unix(1700000000, 999))
		require.True(t, strings.HasPrefix(header, "t=1700000000,v1="), header)
	})
}
