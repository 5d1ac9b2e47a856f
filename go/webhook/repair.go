package webhook

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// replacement is the escape for U+FFFD. It is as long as the escapes that it stands in for.
const replacement = `\ufffd`

// repair replaces, in valid JSON, what jsonb cannot hold: the escape \u0000, escapes of lone surrogates, and
// bytes that are not UTF-8. Each becomes one \ufffd, in keys as in values; every other byte stays as it is.
// It returns body itself when there is nothing to replace.
//
// It need not know where strings begin and end: outside of them, valid JSON has neither a backslash nor a
// byte above 127.
func repair(body []byte) ([]byte, int) {
	if utf8.Valid(body) && !bytes.Contains(body, []byte(`\u`)) {
		return body, 0
	}
	var out []byte
	done, replaced := 0, 0 // body[:done] is in out already
	replace := func(at, size int) {
		out = append(out, body[done:at]...)
		out = append(out, replacement...)
		done = at + size
		replaced++
	}
	for i := 0; i < len(body); {
		switch c := body[i]; {
		case c == '\\':
			size, ok := escape(body[i:])
			if !ok {
				replace(i, size)
			}
			i += size
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(body[i:])
			if r == utf8.RuneError && size == 1 {
				replace(i, size)
			}
			i += size
		}
	}
	if replaced == 0 {
		return body, 0
	}
	return append(out, body[done:]...), replaced
}

// escape measures the escape that s begins with, a surrogate pair counting as one, and says whether jsonb can hold it.
func escape(s []byte) (size int, ok bool) {
	r, is := unicodeEscape(s)
	switch {
	case !is:
		return 2, true // \n and the like, and \\: the u that may follow it is a letter
	case r >= 0xD800 && r < 0xDC00:
		low, is := unicodeEscape(s[6:])
		if is && low >= 0xDC00 && low < 0xE000 {
			return 12, true
		}
		return 6, false
	case r == 0, r >= 0xDC00 && r < 0xE000:
		return 6, false
	}
	return 6, true
}

func unicodeEscape(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(n), err == nil
}
