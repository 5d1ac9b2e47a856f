package webhook_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/deliver/stripesign"
)

// unreadable fails the test when somebody reads it.
type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}
func (unreadable) Close() error { return nil }

type breaking struct{}

func (breaking) Read([]byte) (int, error) { return 0, errors.New("connection reset") }
func (breaking) Close() error             { return nil }

// counting is an endless body that counts what is taken from it.
type counting struct{ taken atomic.Int64 }

func (c *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	c.taken.Add(int64(len(p)))
	return len(p), nil
}
func (*counting) Close() error { return nil }

func TestTooLarge(t *testing.T) {
	t.Parallel()

	t.Run("given a stated length over the limit when posted then 413 without reading", func(t *testing.T) {
		r := signed(anEvent)
		r.ContentLength = webhook.DefaultMaxBody + 1
		r.Body = unreadable{t}
		require.Equal(t, http.StatusRequestEntityTooLarge, serve(t, newHandler(t, webhook.Options{}), r).Status)
	})

	t.Run("given an endless body without a length when posted then 413 after reading hardly more than the limit", func(t *testing.T) {
		body := &counting{}
		r := signed(anEvent)
		r.ContentLength = -1
		r.Body = body
		require.Equal(t, http.StatusRequestEntityTooLarge, serve(t, newHandler(t, webhook.Options{}), r).Status)
		require.LessOrEqual(t, body.taken.Load(), int64(3*webhook.DefaultMaxBody))
	})

	t.Run("given a limit of the owner's when one byte more is posted then 413 and at the limit not", func(t *testing.T) {
		h := newHandler(t, webhook.Options{MaxBody: int64(len(anEvent))})
		require.Equal(t, http.StatusRequestEntityTooLarge, serve(t, h, signed(anEvent+" ")).Status)
		bad := strings.Repeat("x", len(anEvent))
		require.Equal(t, http.StatusBadRequest, serve(t, h, signed(bad)).Status)
	})
}

// A real server and a raw connection: what counts is when the answer is on the wire.
func TestTooLargeOverTheNetwork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, head string
		status     int
	}{
		{"20 MB announced and none of it sent", "Content-Length: 20000000\r\nStripe-Signature: t=1,v1=00\r\n", 413},
		{"chunks announced, no signature and none sent", "Transfer-Encoding: chunked\r\n", 400},
		{"a gzip body announced and none of it sent", "Content-Length: 20000\r\nContent-Encoding: gzip\r\n", 415},
	} {
		t.Run("given "+c.name+" when the head has arrived then the answer comes at once", func(t *testing.T) {
			server := httptest.NewServer(newHandler(t, webhook.Options{}))
			defer server.Close()
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			require.NoError(t, err)
			defer func() { _ = conn.Close() }()
			require.NoError(t, conn.SetDeadline(time.Now().Add(3*time.Second)))
			_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\n%s\r\n", c.head)
			require.NoError(t, err)
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			require.Equal(t, c.status, readReply(t, res).Status)
		})
	}

	t.Run("given a chunked stream of 20 MB under a well-formed signature when posted then 413 and the rest is not taken", func(t *testing.T) {
		server := httptest.NewServer(newHandler(t, webhook.Options{}))
		defer server.Close()
		body := &counting{}
		r, err := http.NewRequest(http.MethodPost, server.URL, io.LimitReader(body, 20<<20))
		require.NoError(t, err)
		r.Header.Set(stripesign.Header, stripesign.Sign(nil, secret, time.Now()))
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		res, err := (&http.Client{Transport: transport}).Do(r)
		if err == nil { // the client may notice the closed connection before it reads the answer
			require.Equal(t, http.StatusRequestEntityTooLarge, readReply(t, res).Status)
		}
		require.Less(t, body.taken.Load(), int64(15<<20))
	})
}
