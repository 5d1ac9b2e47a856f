package webhook

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRepair(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, out string
		replaced      int
	}{
		{"nothing to repair", `{"a": [1.0, 1e5, -0], "b" : "é😀\n\u00e9"}`, "", 0},
		{"a NUL escape", `{"a":"x\u0000y"}`, `{"a":"x\ufffdy"}`, 1},
		{"a NUL escape in a key", `{"a\u0000":1}`, `{"a\ufffd":1}`, 1},
		{"several in one string", `["\u0000\u0000"]`, `["\ufffd\ufffd"]`, 2},
		{"a backslash before u0000", `{"a":"\\u0000"}`, "", 0},
		{"a backslash before a NUL escape", `{"a":"\\\u0000"}`, `{"a":"\\\ufffd"}`, 1},
		{"two backslashes before u0000", `{"a":"\\\\u0000"}`, "", 0},
		{"a quote before a NUL escape", `{"a":"\"\u0000"}`, `{"a":"\"\ufffd"}`, 1},
		{"a surrogate pair", `["\ud83d\ude00"]`, "", 0},
		{"a surrogate pair in capitals", `["\uD83D\uDE00"]`, "", 0},
		{"a lone high surrogate", `["\ud83d"]`, `["\ufffd"]`, 1},
		{"a lone high surrogate in capitals", `["\uD83Dx"]`, `["\ufffdx"]`, 1},
		{"a lone low surrogate", `["\ude00"]`, `["\ufffd"]`, 1},
		{"a pair the wrong way round", `["\ude00\ud83d"]`, `["\ufffd\ufffd"]`, 2},
		{"two highs and a low", `["\ud83d\ud83d\ude00"]`, `["\ufffd\ud83d\ude00"]`, 1},
		{"a high and a NUL", `["\ud83d\u0000"]`, `["\ufffd\ufffd"]`, 2},
		{"a high and a plain escape", `["\ud83d\u0041"]`, `["\ufffd\u0041"]`, 1},
		{"a high and an escaped backslash", `["\ud83d\\ude00"]`, `["\ufffd\\ude00"]`, 1},
		{"the edges of the surrogates", `["\ud7ff\ue000\udbff\udfff"]`, "", 0},
		{"a byte that is not UTF-8", "[\"a\xffb\"]", `["a\ufffdb"]`, 1},
		{"a cut-off sequence", "[\"\xe2\x82\"]", `["\ufffd\ufffd"]`, 2},
		{"an overlong NUL", "[\"\xc0\x80\"]", `["\ufffd\ufffd"]`, 2},
		{"a surrogate in raw bytes", "[\"\xed\xa0\x80\"]", `["\ufffd\ufffd\ufffd"]`, 3},
		{"a byte before an escape", "[\"\xff\\u0000\"]", `["\ufffd\ufffd"]`, 2},
		{"a U+FFFD that was there before", "[\"\ufffd\\ufffd\"]", "", 0},
		{"a raw four-byte character beside a NUL escape", `["😀\u0000"]`, `["😀\ufffd"]`, 1},
	} {
		t.Run("given "+c.name+" when repaired then just that is replaced", func(t *testing.T) {
			want := c.out
			if want == "" {
				want = c.in
			}
			require.True(t, json.Valid([]byte(c.in)), "a test of valid JSON")
			got, replaced := repair([]byte(c.in))
			require.Equal(t, want, string(got))
			require.Equal(t, c.replaced, replaced)
		})
	}

	t.Run("given a body to repair when repaired then the caller's bytes are left alone", func(t *testing.T) {
		in := []byte(`["\u0000","\u0000"]`)
		kept := bytes.Clone(in)
		_, _ = repair(in)
		require.Equal(t, kept, in)
	})
}

func TestReadEvent(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ name, in, id, kind string }{
		{"id and type first", `{"id":"evt_1","type":"a.b"}`, "evt_1", "a.b"},
		{"other ids inside", `{"data":{"id":"in_1","type":"x"},"l":[{"id":"y"}],"id":"evt_1","type":"a.b","z":{"id":"q"}}`, "evt_1", "a.b"},
		{"escaped names and values", `{"\u0069d":"evt\u005f1","type":"a\"b"}`, "evt_1", `a"b`},
		{"an id that is no string", `{"id":1,"type":["a"]}`, "", ""},
		{"id as a value", `{"a":"id","b":"evt_1"}`, "", ""},
		{"braces and quotes in strings", `{"a":"}\"{[\\","id":"evt_1","type":"t"}`, "evt_1", "t"},
		{"nothing", `{}`, "", ""},
		{"the reserved key further down", `{"id":"evt_1","type":"t","data":{"paidonce":1}}`, "evt_1", "t"},
		{"the reserved key as a value", `{"id":"evt_1","type":"paidonce"}`, "evt_1", "paidonce"},
	} {
		t.Run("given "+c.name+" when read then the log knows the event's own id and type", func(t *testing.T) {
			e, err := readEvent([]byte(c.in))
			require.NoError(t, err)
			require.Equal(t, c.in, e.body)
			require.Equal(t, c.id, e.id)
			require.Equal(t, c.kind, e.kind)
		})
	}

	t.Run("given a very long id when read then the log's copy is cut to whole characters", func(t *testing.T) {
		e, err := readEvent([]byte(`{"id":"` + strings.Repeat("é", 1000) + `x"}`))
		require.NoError(t, err)
		require.Less(t, len(e.id), 210)
		require.Equal(t, strings.Repeat("é", 100)+"…", e.id)
	})

	t.Run("given repairs when read then their number is added and nothing else changes", func(t *testing.T) {
		e, err := readEvent([]byte("\n{\"id\": \"evt_1\", \"a\": \"\\u0000\\ud800\", \"n\": 1.50 }\r\n"))
		require.NoError(t, err)
		require.Equal(t, `{"id": "evt_1", "a": "\ufffd\ufffd", "n": 1.50 ,"paidonce":{"repaired":2}}`, e.body)
	})
}

// FuzzRepair compares with encoding/json, which by itself reads lone surrogates and stray bytes as U+FFFD.
func FuzzRepair(f *testing.F) {
	for _, s := range []string{
		`{"a":"\u0000"}`, `["\ud83d\ude00","\ud83d","\\u0000"]`, "[\"\xff\xed\xa0\x80\"]", `{"k\u0000":{"n":1e400}}`, `"\ud800\ud800\udc00"`,
		`[" \" \\ \/ \b\f\n\r\t"]`, ` {} `, `"\uDbFf\uDfFf\u0000"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if !json.Valid(in) {
			_, _ = readEvent(in) // must not panic
			return
		}
		kept := bytes.Clone(in)
		out, replaced := repair(in)
		require.Equal(t, kept, in)
		require.True(t, json.Valid(out))
		require.Equal(t, replaced == 0, bytes.Equal(in, out))
		require.Equal(t, tokens(t, in), tokens(t, out))

		again, more := repair(out)
		require.Zero(t, more)
		require.Equal(t, out, again)

		e, err := readEvent(in)
		if err == nil {
			require.True(t, json.Valid([]byte(e.body)))
			require.Equal(t, replaced > 0, strings.Contains(e.body, `"paidonce":{"repaired":`) && e.body != string(out))
		}
	})
}

// tokens decodes every token, with NUL read as U+FFFD.
func tokens(t *testing.T, doc []byte) []json.Token {
	t.Helper()
	var all []json.Token
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		if s, is := token.(string); is {
			token = strings.ReplaceAll(s, "\x00", "\ufffd")
		}
		all = append(all, token)
	}
}
