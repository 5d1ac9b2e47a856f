package schema

import (
	"fmt"
	"strings"
)

// token is a word, a quoted thing, or a single symbol of a statement, with its
// place in the text. Comments and white space are not tokens.
type token struct {
	text       string // words in lower case, all else as written
	start, end int
}

// statement is one SQL statement without its semicolon.
type statement struct {
	text   string
	tokens []token
}

// scan splits SQL into statements the way psql does: semicolons inside quotes,
// dollar quotes, comments and parentheses do not count.
func scan(sql string) ([]statement, error) {
	var (
		found []statement
		cur   []token
		depth int
	)
	flush := func(end int) {
		if len(cur) > 0 {
			base := cur[0].start
			for i := range cur {
				cur[i].start -= base
				cur[i].end -= base
			}
			found = append(found, statement{text: sql[base:end], tokens: cur})
		}
		cur, depth = nil, 0
	}
	for i := 0; i < len(sql); {
		end, kind, err := next(sql, i)
		if err != nil {
			return nil, err
		}
		text := sql[i:end]
		switch {
		case kind == gap:
		case text == ";" && depth == 0:
			flush(i)
		default:
			switch text {
			case "(":
				depth++
			case ")":
				depth--
			}
			if kind == word {
				text = strings.ToLower(text)
				if text == "atomic" && len(cur) > 0 && cur[len(cur)-1].text == "begin" {
					return nil, fmt.Errorf("line %d: begin atomic bodies are not supported, write the body in $$", lineOf(sql, i))
				}
			}
			cur = append(cur, token{text: text, start: i, end: end})
		}
		i = end
	}
	flush(len(strings.TrimRight(sql, " \t\n")))
	return found, nil
}

type tokenKind int

const (
	gap    tokenKind = iota // white space or a comment
	word                    // a name, a keyword or a number
	quoted                  // '…', "…", $$…$$
	symbol
)

// next finds the token that starts at i and returns where it ends.
func next(sql string, i int) (end int, kind tokenKind, err error) {
	rest := sql[i:]
	open := func(what string) (int, tokenKind, error) {
		return 0, gap, fmt.Errorf("line %d: %s is never closed", lineOf(sql, i), what)
	}
	switch c := rest[0]; {
	case strings.IndexByte(" \t\r\n", c) >= 0:
		return i + 1, gap, nil
	case strings.HasPrefix(rest, "--"):
		if n := strings.IndexByte(rest, '\n'); n >= 0 {
			return i + n + 1, gap, nil
		}
		return len(sql), gap, nil
	case strings.HasPrefix(rest, "/*"):
		if n := blockComment(rest); n > 0 {
			return i + n, gap, nil
		}
		return open("a block comment")
	case c == '\'' || c == '"':
		escapes := c == '\'' && i > 0 && (sql[i-1] == 'e' || sql[i-1] == 'E') && (i < 2 || !isWord(sql[i-2]))
		if n := quotedEnd(rest, c, escapes); n > 0 {
			return i + n, quoted, nil
		}
		return open("a quote")
	case c == '$':
		if tag := dollarTag(rest); tag != "" {
			if n := strings.Index(rest[len(tag):], tag); n >= 0 {
				return i + n + 2*len(tag), quoted, nil
			}
			return open("a dollar quote")
		}
		return i + 1, symbol, nil
	case isWord(c):
		n := 1
		for n < len(rest) && (isWord(rest[n]) || rest[n] == '$') {
			n++
		}
		return i + n, word, nil
	default:
		return i + 1, symbol, nil
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// quotedEnd returns the length of the quoted thing that s starts with, 0 when
// it is not closed. A doubled quote stands for itself.
func quotedEnd(s string, quote byte, escapes bool) int {
	for n := 1; n < len(s); n++ {
		switch {
		case escapes && s[n] == '\\':
			n++
		case s[n] == quote && n+1 < len(s) && s[n+1] == quote:
			n++
		case s[n] == quote:
			return n + 1
		}
	}
	return 0
}

// blockComment returns the length of the comment that s starts with, 0 when it
// is not closed. SQL block comments nest.
func blockComment(s string) int {
	depth := 0
	for n := 0; n+1 < len(s); n++ {
		switch s[n : n+2] {
		case "/*":
			depth++
			n++
		case "*/":
			depth--
			n++
			if depth == 0 {
				return n + 1
			}
		}
	}
	return 0
}

// dollarTag returns the opening tag ($$ or $name$) that s starts with, or "".
func dollarTag(s string) string {
	for n := 1; n < len(s); n++ {
		switch {
		case s[n] == '$':
			return s[:n+1]
		case !isWord(s[n]) || n == 1 && s[n] >= '0' && s[n] <= '9':
			return ""
		}
	}
	return ""
}

func lineOf(sql string, offset int) int { return 1 + strings.Count(sql[:offset], "\n") }
