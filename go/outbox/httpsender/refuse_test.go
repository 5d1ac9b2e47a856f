package httpsender

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outboxtest"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"1.1.1.1": true, "93.184.216.34": true, "172.32.0.1": true, "100.128.0.1": true, "2606:4700::1111": true, "64:ff9b::101:101": true, "::ffff:1.1.1.1": true,
		"127.0.0.1": false, "127.8.9.10": false, "::1": false, "0.0.0.0": false, "::": false, "0.1.2.3": false,
		"10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "fd00::1": false, "fc00::1": false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "100.64.0.1": false, "100.127.255.255": false,
		"224.0.0.1": false, "ff02::1": false, "255.255.255.255": false, "240.0.0.1": false, "198.18.0.1": false, "192.0.2.1": false, "fec0::1": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::ffff:10.0.0.1": false, "::ffff:100.64.0.1": false, "::127.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "2002:7f00:1::": false, "2002:a00:1::1": false, "2001::1": false,
	} {
		require.Equal(t, want, public(netip.MustParseAddr(text)), text)
	}
}

func TestPrivateReceivers(t *testing.T) {
	t.Parallel()
	to := receiver(t)
	port := to.URL()[strings.LastIndexByte(to.URL(), ':'):]
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"} {
		t.Run("given the receiver "+host+" when private ones are not allowed then nothing is sent to it", func(t *testing.T) {
			t.Parallel()
			_, err := newSender(t, Options{URL: "http://" + host + port})(t.Context(), outboxtest.Action("http.a", "k", payload))
			require.Equal(t, "dead", outboxtest.Verdict(err), err)
			require.ErrorContains(t, err, "OUTBOX_HTTP_ALLOW_PRIVATE")
			require.Empty(t, to.Requests("", "/"))
		})
	}
}

func TestRedirectToTheDefaultPorts(t *testing.T) {
	t.Parallel()
	request := func(method, text string) *http.Request {
		u, err := url.Parse(text)
		require.NoError(t, err)
		return &http.Request{Method: method, URL: u}
	}
	for to, want := range map[string]bool{
		"https://shop.example/x": true, "https://SHOP.example:443/x": true, "http://shop.example/x": true,
		"https://shop.example:8443/": false, "https://other.example/": false, "https://shop.example.other/": false,
	} {
		err := checkRedirect(request("POST", to), []*http.Request{request("POST", "http://shop.example/")})
		require.Equal(t, want, err == nil, to)
	}
	require.Error(t, checkRedirect(request("POST", "http://shop.example/"), []*http.Request{request("POST", "https://shop.example/")}))
}
