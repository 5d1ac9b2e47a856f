package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// given is an event that somebody else wrote.
type given struct {
	file, id string
	body     []byte
}

// readShared reads a folder of JSON files that may lie beside the repository.
func readShared(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	path := filepath.Join(filepath.Dir(here), "..", "..", "..", "shared", folder)
	files, err := filepath.Glob(filepath.Join(path, "*.json"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skipf("no collected Stripe %s in ../shared/%s beside the repository", folder, folder)
	}
	out := make(map[string][]byte, len(files))
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		out[filepath.Base(file)] = body
	}
	return out
}

func collectedEvents(t *testing.T) []given {
	t.Helper()
	var out []given
	for file, body := range readShared(t, "events") {
		var head struct{ ID string }
		require.NoError(t, json.Unmarshal(body, &head), file)
		out = append(out, given{file, head.ID, body})
	}
	return out
}

// collectedObjects are wrapped into events of the types that read them.
func collectedObjects(t *testing.T) []given {
	t.Helper()
	var out []given
	for file, body := range readShared(t, "objects") {
		var object fields
		require.NoError(t, json.Unmarshal(body, &object), file)
		kind, _, _ := strings.Cut(file, "__")
		suffixes := []string{"created", "updated", "deleted"}
		switch kind {
		case "checkout.session":
			suffixes = []string{"completed", "expired"}
		case "subscription":
			kind = "customer.subscription"
		case "invoice":
			suffixes = append(suffixes, "paid")
		}
		for _, suffix := range suffixes {
			e := newEvent(kind+"."+suffix, 0, object)
			out = append(out, given{file, e.id, e.body()})
		}
	}
	return out
}

func TestCollected(t *testing.T) {
	t.Parallel()
	for name, collected := range map[string]func(*testing.T) []given{"events": collectedEvents, "objects": collectedObjects} {
		for how, prepare := range map[string]string{
			"with the built-in effects":              "select",
			"with a further effect for every type":   "select paidonce.on('*', 'app.run(jsonb)')",
			"for an installation that is live alone": "update paidonce.settings set livemode = true",
		} {
			t.Run("given the collected "+name+" when all are delivered twice "+how+" then none gets an error, none is lost, and the second time all are duplicates", func(t *testing.T) {
				t.Parallel()
				all := collected(t)
				s := openShop(t)
				s.db.Exec(t, "truncate paidonce.handlers")
				s.db.Exec(t, prepare)
				first := s.pour(all)
				require.Empty(t, s.failures())
				for g, a := range first {
					require.Contains(t, []string{"200 processed", "200 ignored"}, a.String(), g.file)
				}
				for _, g := range all {
					require.Equal(t, 1, s.count("paidonce.events where event_id = $1", g.id), g.file)
				}
				for g, a := range s.pour(all) {
					require.Equal(t, "200 duplicate", a.String(), g.file)
				}
				require.Equal(t, len(all), s.count("paidonce.events"))
				require.Equal(t, 2*len(all), s.count("paidonce.deliveries"))
				require.Zero(t, s.count(`paidonce.events as e where e.status = 'processed' and e.event_type ~ '^customer\.subscription\.'
					and not exists (select from paidonce.subscriptions as s where s.subscription_id = e.object_id)`))
				if strings.HasPrefix(prepare, "select paid") {
					require.Equal(t, len(all), s.count("app.runs"))
					require.Equal(t, len(all), pgtest.One[int](t, s.db, "select count(distinct event_id) from app.runs"))
				}
			})
		}
	}
}

// failures says which events failed, and why.
func (s *shop) failures() string {
	s.t.Helper()
	return pgtest.One[string](s.t, s.db, `
		select coalesce(string_agg(distinct concat_ws(' ', event_type, sqlstate, error, split_part(context, E'\n', 1)), E'\n'), '')
		from paidonce.events where status = 'failed'`)
}

// pour delivers all, eight at a time.
func (s *shop) pour(all []given) map[*given]answer {
	todo := make(chan *given)
	out := make(map[*given]answer, len(all))
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for g := range todo {
				a := s.deliverTo(s.url, secret, g.body)
				mu.Lock()
				out[g] = a
				mu.Unlock()
			}
		})
	}
	for i := range all {
		todo <- &all[i]
	}
	close(todo)
	group.Wait()
	return out
}
