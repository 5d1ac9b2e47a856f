package webhook_test

import (
	"fmt"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/webhook"
	"github.com/paidonce/paidonce/internal/deliver/stripesign"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestBodies(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	h := newHandler(t, webhook.Options{DB: db.Pool})
	note := func(id, note string) string {
		return fmt.Sprintf(`{"id":%q,"type":"customer.created","data":{"object":{"id":"cus_%[1]s","object":"customer","note":%s}}}`, id, note)
	}

	for name, body := range map[string]string{
		"CRLF line ends":         strings.ReplaceAll(note("evt_crlf", "1"), ",", ",\r\n"),
		"newlines at both ends":  "\n" + note("evt_newline", "1") + "\n\n",
		"escapes and odd floats": note("evt_escapes", `["\u0041\/\n", 1.0, 1e2, -0]`),
		"300 KB":                 note("evt_300k", `"`+strings.Repeat("é", 150_000)+`"`),
	} {
		t.Run("given "+name+" as they were signed when posted then 200", func(t *testing.T) {
			require.Equal(t, 200, serve(t, h, signed(body)).Status)
		})
	}

	t.Run("given a chunked body without a length when posted over the network then 200", func(t *testing.T) {
		server := httptest.NewServer(h)
		defer server.Close()
		body := note("evt_chunked", "1")
		r, err := http.NewRequest(http.MethodPost, server.URL, struct{ *strings.Reader }{strings.NewReader(body)})
		require.NoError(t, err)
		r.Header.Set(stripesign.Header, stripesign.Sign([]byte(body), secret, time.Now()))
		r.ContentLength = -1
		res, err := server.Client().Do(r)
		require.NoError(t, err)
		require.Equal(t, 200, readReply(t, res).Status)
	})

	t.Run("given what jsonb cannot hold when posted then 200, U+FFFD in its place and the number on the row", func(t *testing.T) {
		body := note("evt_repair", "{\"a\\u0000\":\"x\\ud800y\xffz\",\"b\":\"\\\\u0000\",\"n\":1.50}")
		require.Equal(t, 200, serve(t, h, signed(body)).Status)
		require.Equal(t, `{"b": "\\u0000", "n": 1.50, "a�": "x�y�z"}`,
			pgtest.One[string](t, db, `select payload #>> '{data,object,note}' from paidonce.events where event_id = 'evt_repair'`))
		require.EqualValues(t, 3, pgtest.One[int32](t, db, `select repaired from paidonce.events where event_id = 'evt_repair'`))
		require.False(t, pgtest.One[bool](t, db, `select payload ? 'paidonce' from paidonce.events where event_id = 'evt_repair'`))
	})

	t.Run("given a number beyond jsonb's range when posted then 400 and no row", func(t *testing.T) {
		before := events(t, db)
		require.Equal(t, 400, serve(t, h, signed(note("evt_number", "1e400000"))).Status)
		require.Equal(t, before, events(t, db))
	})
}

// Whatever the pieces are put together to, the server takes it once the handler has repaired it.
func TestRepairedBodiesAreJSONB(t *testing.T) {
	t.Parallel()
	db := newStandIn(t)
	h := newHandler(t, webhook.Options{DB: db.Pool})
	pieces := []string{
		`\u0000`, `\ud83d`, `\ude00`, `\ud83d\ude00`, `\uDBFF`, `\uDFFF`, `\\`, `\"`, `\n`, `u0000`, `a`, `é`, `😀`, "\xff", "\xed\xa0\x80",
		"\xf0\x9f\x98", "\xc0\x80", "\xf4\x90\x80\x80", `\ufffe`, "\uffff", `\u00e9`, "\x7f", "\ufeff",
	}
	random := rand.New(rand.NewSource(1))
	text := func() string {
		var b strings.Builder
		for range random.Intn(8) {
			b.WriteString(pieces[random.Intn(len(pieces))])
		}
		return `"` + b.String() + `"`
	}
	t.Run("given strings of all kinds of pieces when posted then every one is taken", func(t *testing.T) {
		for range 1500 {
			body := `{"k` + text()[1:] + `:[` + text() + `,` + text() + `],"returns":{"outcome":"processed"}}`
			require.Equal(t, 200, serve(t, h, signed(body)).Status, "%q", body)
		}
	})
}
