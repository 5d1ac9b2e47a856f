package webhook_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/webhook"
)

func TestParseSecrets(t *testing.T) {
	t.Parallel()

	t.Run("given one secret with a trailing newline when parsed then it is trimmed", func(t *testing.T) {
		got, err := webhook.ParseSecrets("whsec_x\r\n")
		require.NoError(t, err)
		require.Equal(t, []string{"whsec_x"}, got)
	})

	t.Run("given a list when parsed then every member is trimmed and the order kept", func(t *testing.T) {
		got, err := webhook.ParseSecrets(" whsec_new , whsec_old\n")
		require.NoError(t, err)
		require.Equal(t, []string{"whsec_new", "whsec_old"}, got)
	})

	for _, bad := range []string{"", " ", "\n", ",", "whsec_a,", ",whsec_a", "whsec_a, ,whsec_b"} {
		t.Run("given "+quote(bad)+" when parsed then the error names the variable and repeats no secret", func(t *testing.T) {
			_, err := webhook.ParseSecrets(bad)
			require.ErrorContains(t, err, "STRIPE_WEBHOOK_SECRET")
			require.NotContains(t, err.Error(), "whsec_a")
			require.Equal(t, strings.TrimSpace(bad) == "", strings.Contains(err.Error(), "is empty"), err)
		})
	}
}

func TestNew(t *testing.T) {
	t.Parallel()

	for name, secrets := range map[string][]string{
		"no list":               nil,
		"an empty list":         {},
		"an empty secret":       {""},
		"a blank secret":        {" \t\n"},
		"one blank among good":  {"whsec_a", " "},
		"a list with a comma":   {"whsec_a,"},
		"an unset variable":     {"whsec_a", ""},
		"two commas in a value": {"whsec_a,,whsec_b"},
	} {
		t.Run("given "+name+" when a handler is made then it refuses and names the variable", func(t *testing.T) {
			_, err := webhook.New(webhook.Options{Secrets: secrets, DB: untouched{t}})
			require.ErrorContains(t, err, "STRIPE_WEBHOOK_SECRET")
			require.NotContains(t, err.Error(), "whsec_a")
		})
	}

	t.Run("given no database when a handler is made then it refuses", func(t *testing.T) {
		_, err := webhook.New(webhook.Options{Secrets: []string{secret}})
		require.ErrorContains(t, err, "no database")
	})

	t.Run("given a negative limit when a handler is made then it refuses", func(t *testing.T) {
		for _, o := range []webhook.Options{{Tolerance: -1}, {Timeout: -1}, {MaxBody: -1}} {
			o.Secrets, o.DB = []string{secret}, untouched{t}
			_, err := webhook.New(o)
			require.ErrorContains(t, err, "negative")
		}
	})
}
