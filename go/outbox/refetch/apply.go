package refetch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
)

// triesToApply is how often an answer that clashed with other transactions is applied before it is let go. It
// stays good as long as its generation does, and getting it again costs a request.
const triesToApply = 4

// apply hands an answer to the database.
func (s *sender) apply(ctx context.Context, want request, got snapshot, generation int64) (string, error) {
	if want.Account != "" {
		got.object["paidonce"] = encode(map[string]string{"account": want.Account})
	}
	body := storable(encode(got.object))
	for tries := 1; ; tries++ {
		var result string
		err := s.db.QueryRow(ctx, "select paidonce.apply_snapshot($1::jsonb, $2, $3)", string(body), got.at, generation).Scan(&result)
		if err == nil {
			return result, nil
		}
		if tries == triesToApply || !clashed(err) {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(time.Duration(tries) * 20 * time.Millisecond):
		}
	}
}

func clashed(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && (pgErr.Code == "40001" || pgErr.Code == "40P01" || pgErr.Code == "55P03")
}

// storable replaces what jsonb cannot hold: the escape \u0000, halves of surrogate pairs, bytes that are not
// UTF-8. Decoding makes U+FFFD of all but the first by itself.
func storable(body []byte) []byte {
	if utf8.Valid(body) && !bytes.Contains(body, []byte(`\u0000`)) && !bytes.Contains(bytes.ToLower(body), []byte(`\ud`)) {
		return body
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return body
	}
	return encode(withoutNUL(value))
}

func withoutNUL(value any) any {
	switch v := value.(type) {
	case string:
		return strings.ReplaceAll(v, "\x00", "\uFFFD")
	case []any:
		for i := range v {
			v[i] = withoutNUL(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, inner := range v {
			clean[strings.ReplaceAll(name, "\x00", "\uFFFD")] = withoutNUL(inner)
		}
		return clean
	}
	return value
}
