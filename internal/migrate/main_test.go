package migrate

import (
	"log/slog"
	"testing"
	"testing/fstest"
	"time"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestMain(m *testing.M) { pgtest.MainWithoutLeaks(m) }

// with is a runner of migrations made for a test; a way down for each is not needed.
func with(lockWait time.Duration, files map[string]string) runner {
	source := fstest.MapFS{}
	for name, text := range files {
		source[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return runner{source: source, log: slog.New(slog.DiscardHandler), lockWait: lockWait}
}

// two are migrations that can be told apart by what they leave behind, and,
// like the real ones, do no harm twice.
var two = map[string]string{
	"000001_one.up.sql":   "create table if not exists paidonce.one (a int);\ncreate table if not exists paidonce.log (n int);\ninsert into paidonce.log values (1);",
	"000001_one.down.sql": "drop table if exists paidonce.one; drop table if exists paidonce.log;",
	"000002_two.up.sql":   "create table if not exists paidonce.two (a int);\ninsert into paidonce.log values (2);",
	"000002_two.down.sql": "drop table if exists paidonce.two;",
}

// but is two with other files instead.
func but(files map[string]string) map[string]string {
	changed := map[string]string{}
	for _, m := range []map[string]string{two, files} {
		for name, text := range m {
			changed[name] = text
		}
	}
	return changed
}
