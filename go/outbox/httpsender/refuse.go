package httpsender

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
)

// refusedError says that a request was not made, or not followed to where it was sent.
type refusedError struct {
	why     string
	forGood bool
}

func (e *refusedError) Error() string { return e.why }

// notPublic are the networks that the public internet does not route to, besides those that netip knows.
var notPublic = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "fec0::/10",
)

// carrying are the networks whose addresses hold an IPv4 address, and where in them.
var carrying = map[netip.Prefix]int{
	netip.MustParsePrefix("64:ff9b::/96"): 12,
	netip.MustParsePrefix("2002::/16"):    2,
}

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// refusePrivate is asked before each connection, with the address that will really be connected to.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !public(to.Addr()) {
		return &refusedError{why: fmt.Sprintf("%s is a private address: allow private addresses to send there (OUTBOX_HTTP_ALLOW_PRIVATE)", address), forGood: true}
	}
	return nil
}

// Private says whether a URL names a loopback or private address outright, so that a sender without
// AllowPrivate would refuse it at every attempt. A name is only known for what it is when it is dialled.
func Private(rawURL string) bool {
	target, err := url.Parse(rawURL)
	if err != nil {
		return false
	}
	if strings.EqualFold(target.Hostname(), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(target.Hostname())
	return err == nil && !public(ip)
}

func public(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(ip) {
			return false
		}
	}
	for p, at := range carrying {
		if p.Contains(ip) {
			b := ip.As16()
			return public(netip.AddrFrom4([4]byte(b[at : at+4])))
		}
	}
	return true
}

// checkRedirect follows nothing that leads elsewhere: not to another host, whom nobody has configured, not
// from https to http, and not where the request would become a GET.
func checkRedirect(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch {
	case !strings.EqualFold(req.URL.Host, from.Host) && !sameDefaultPort(req, via[len(via)-1]):
		return &refusedError{why: fmt.Sprintf("%s redirects to another host, %s: not followed", from.Host, req.URL.Host)}
	case from.Scheme == "https" && req.URL.Scheme != "https":
		return &refusedError{why: from.Host + " redirects from https to http: not followed"}
	case req.Method != http.MethodPost:
		return &refusedError{why: from.Host + " redirects to where a GET is expected: not followed"}
	case len(via) > maxRedirects:
		return &refusedError{why: from.Host + " redirects too often: not followed"}
	}
	return nil
}

// sameDefaultPort lets a host move from http to https, each on the port that needs no mention.
func sameDefaultPort(to, from *http.Request) bool {
	return strings.EqualFold(to.URL.Hostname(), from.URL.Hostname()) && to.URL.Scheme == "https" && from.URL.Scheme == "http" &&
		(to.URL.Port() == "" || to.URL.Port() == "443") && (from.URL.Port() == "" || from.URL.Port() == "80")
}
