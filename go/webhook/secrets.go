package webhook

import (
	"errors"
	"strings"
)

var errNoSecret = errors.New("webhook: STRIPE_WEBHOOK_SECRET is empty: set it to the endpoint's signing secret (whsec_…)")

// ParseSecrets splits a comma-separated list of signing secrets, as STRIPE_WEBHOOK_SECRET holds it while a
// secret is being rotated, and trims each. An empty list or a blank member is an error: an empty secret
// would accept whatever anyone signs with the empty key.
func ParseSecrets(list string) ([]string, error) {
	if strings.TrimSpace(list) == "" {
		return nil, errNoSecret
	}
	secrets := strings.Split(list, ",")
	for i, s := range secrets {
		secrets[i] = strings.TrimSpace(s)
		if secrets[i] == "" {
			return nil, errors.New("webhook: STRIPE_WEBHOOK_SECRET has a blank member: take the stray comma out")
		}
	}
	return secrets, nil
}

// cleanSecrets puts every member through ParseSecrets, so that the value of the environment variable can
// also be given as it is.
func cleanSecrets(given []string) ([]string, error) {
	var secrets []string
	for _, g := range given {
		parsed, err := ParseSecrets(g)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, parsed...)
	}
	if len(secrets) == 0 {
		return nil, errNoSecret
	}
	return secrets, nil
}
