package provider_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outbox/internal/provider"
)

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ given, want string }{
		"given none when read then it is the usual one":        {"", "https://api.example"},
		"given one when read then it is that":                  {"http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"},
		"given no scheme when read then it is refused":         {"api.example", ""},
		"given another scheme when read then it is refused":    {"ftp://api.example", ""},
		"given no host when read then it is refused":           {"https://", ""},
		"given what is no URL when read then it is not quoted": {"https://u:hush@[", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := provider.BaseURL(tc.given, "https://api.example")
			if tc.want == "" {
				require.EqualError(t, err, "the base URL must be an absolute http or https URL")
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, u.String())
		})
	}
}

func TestClient(t *testing.T) {
	t.Parallel()
	t.Run("given a redirect when it is answered then it is not followed", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusFound))
		defer server.Close()
		client := provider.Client()
		defer client.CloseIdleConnections()
		res, err := client.Get(server.URL)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusFound, res.StatusCode)
	})
}
