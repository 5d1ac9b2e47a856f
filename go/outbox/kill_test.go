package outbox_test

import (
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// receiver honours keys as providers do: the first request under a key has the effect, further ones get the
// same answer, and another body under a known key is refused.
type receiver struct {
	drop  float64       // share of the answers that are lost after the work is done
	delay time.Duration // of each answer

	mu       sync.Mutex
	bodies   map[string][32]byte
	effects  map[string]int
	requests map[string]int
	other    []string // keys that came with another body
	dropped  int
	began    chan struct{} // closed at the first request
}

func receive(t *testing.T, drop float64, delay time.Duration) (*receiver, string) {
	t.Helper()
	r := &receiver{
		drop: drop, delay: delay, bodies: map[string][32]byte{}, effects: map[string]int{}, requests: map[string]int{}, began: make(chan struct{}),
	}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return r, server.URL
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil { // its sender was killed halfway: no request, no effect
		return
	}
	if !r.take(request.Header.Get("Idempotency-Key"), sha256.Sum256(body)) {
		http.Error(w, "another body under a known key", http.StatusConflict)
		return
	}
	time.Sleep(r.delay)
	if rand.Float64() < r.drop {
		r.mu.Lock()
		r.dropped++
		r.mu.Unlock()
		panic(http.ErrAbortHandler) // the connection ends without an answer
	}
	_, _ = io.WriteString(w, "{}")
}

func (r *receiver) take(key string, body [32]byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.requests) == 0 {
		close(r.began)
	}
	r.requests[key]++
	known, again := r.bodies[key]
	switch {
	case !again:
		r.bodies[key] = body
		r.effects[key]++
	case known != body:
		r.other = append(r.other, key)
		return false
	}
	return true
}

func TestKilledWorkers(t *testing.T) {
	// Not parallel: it keeps the machine busy.
	const rows, workers, lease = 10000, 5, 2 * time.Second
	db := pgtest.New(t)
	db.Exec(t, `
		select paidonce.enqueue_once(concat('key:', n), null, concat('test.', n % 3), jsonb_build_object('n', n, 'text', repeat('ü', n % 100), 'price', 1.50))
		from generate_series(1, $1::integer) as n`, rows)
	r, url := receive(t, 0.1, 15*time.Millisecond)

	done := make(chan struct{})
	var kills atomic.Int64
	var group sync.WaitGroup
	victims := make([]atomic.Pointer[exec.Cmd], workers)
	for i := range workers {
		group.Go(func() { // keeps one worker process running
			for {
				cmd := child(t, db, url, lease)
				victims[i].Store(cmd)
				ended := make(chan struct{})
				go func() { _ = cmd.Wait(); close(ended) }()
				select {
				case <-ended: // killed: the next one takes its place
				case <-done:
					_ = cmd.Process.Signal(syscall.SIGTERM)
					<-ended
					return
				}
			}
		})
	}
	group.Go(func() { // and this one kills one of them every second
		<-r.began
		for {
			select {
			case <-time.After(time.Second):
				if cmd := victims[rand.IntN(workers)].Load(); cmd != nil && cmd.Process.Signal(syscall.SIGKILL) == nil {
					kills.Add(1)
				}
			case <-done:
				return
			}
		}
	})
	began := time.Now()
	over := func() bool { return count(t, db, "status = 'pending'") == 0 }
	finished := false
	for time.Since(began) < 50*time.Second && !finished {
		time.Sleep(100 * time.Millisecond)
		finished = over()
	}
	close(done)
	group.Wait()

	t.Run("given 5 worker processes, 10,000 rows, a tenth of the answers lost and a kill -9 every second when all is over then each key had one effect, one body, and is sent", func(t *testing.T) {
		require.True(t, finished, "%d rows are pending still", count(t, db, "status = 'pending'"))
		require.EqualValues(t, rows, count(t, db, "status = 'sent'"))
		require.Len(t, r.effects, rows)
		for key, n := range r.effects {
			require.Equal(t, 1, n, key)
		}
		require.Empty(t, r.other, "the same bytes under the same key every time")
		require.Positive(t, r.dropped)
		require.GreaterOrEqual(t, kills.Load(), int64(3))
		requests := 0
		for _, n := range r.requests {
			requests += n
		}
		require.Greater(t, requests, rows)
		t.Logf("%d requests for %d rows, %d answers lost, %d workers killed, %s", requests, rows, r.dropped, kills.Load(), time.Since(began).Round(time.Millisecond))
	})
}

func TestTerminated(t *testing.T) {
	t.Parallel()

	t.Run("given a worker process and a slow receiver when terminated while sending then it finishes, marks the row, and the next worker sends nothing", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		ask(t, db, "test.a", "k1")
		r, url := receive(t, 0, 1500*time.Millisecond)
		cmd := child(t, db, url, time.Minute)
		<-r.began
		time.Sleep(300 * time.Millisecond)
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait(), "an orderly end")
		require.EqualValues(t, 1, count(t, db, "status = 'sent' and attempts = 1"))

		next := child(t, db, url, time.Minute)
		time.Sleep(500 * time.Millisecond)
		require.NoError(t, next.Process.Signal(syscall.SIGTERM))
		require.NoError(t, next.Wait())
		require.Equal(t, map[string]int{"k1": 1}, r.requests)
	})
}
