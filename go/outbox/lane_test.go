package outbox_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/go/outbox"
	"github.com/paidonce/paidonce/go/outbox/httpsender"
	"github.com/paidonce/paidonce/go/outbox/resend"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func TestLanes(t *testing.T) {
	t.Parallel()

	t.Run("given a receiver that hangs on a crowd of posts when e-mail is asked for then it goes out at once", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		gate := make(chan struct{})
		release := sync.OnceFunc(func() { close(gate) })
		var hanging meter
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			defer hanging.enter()()
			<-gate
		}))
		t.Cleanup(receiver.Close)
		provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"id": "42"}`)) }))
		t.Cleanup(provider.Close)
		post, postPolicy, err := httpsender.New(httpsender.Options{URL: receiver.URL, Secret: "whsec_b2YgdGhlIHRlc3Rz", AllowPrivate: true})
		require.NoError(t, err)
		mail, mailPolicy, err := resend.New(resend.Options{Key: "re_1", BaseURL: provider.URL})
		require.NoError(t, err)
		askMany(t, db, "http.order", 100)
		start(t, db, outbox.Options{Concurrency: 4}, func(w *outbox.Worker) {
			w.Handle("http.*", post, postPolicy)
			w.Handle("email.*", mail, mailPolicy)
		})
		t.Cleanup(release)
		eventually(t, "the receiver hangs", func() bool { return hanging.highest() == 4 })
		asked := time.Now()
		askMany(t, db, "email.receipt", 20)
		require.Eventually(t, func() bool { return count(t, db, "action = 'email.receipt' and status = 'sent'") == 20 }, 5*time.Second, 5*time.Millisecond)
		t.Log("e-mail went out after", time.Since(asked))
		require.Equal(t, 4, hanging.highest(), "each has its own bound")
		require.Zero(t, count(t, db, "action = 'http.order' and status = 'sent'"))
		release()
		eventually(t, "the posts are sent, too", allSent(t, db))
	})

	t.Run("given many patterns and a pool of two connections when rows of all come then each reaches its sender, and the rest of them that of all", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		names := strings.Fields("a b c d e f g h i j k l")
		var s, rest sent
		start(t, db, outbox.Options{DB: pool(t, db.URL("postgres")+"&pool_max_conns=2"), Concurrency: 3}, func(w *outbox.Worker) {
			for _, name := range names {
				w.Handle(name+".*", func(ctx context.Context, a outbox.Action) (json.RawMessage, error) {
					if !strings.HasPrefix(a.Name, name+".") {
						return nil, outbox.Permanent(context.Canceled)
					}
					return s.accept(ctx, a)
				})
			}
			w.Handle("*", rest.accept)
		})
		for _, name := range names {
			askMany(t, db, name+".x", 20)
		}
		askMany(t, db, "other", 20)
		eventually(t, "all are sent", allSent(t, db))
		require.Len(t, s.list(), 20*len(names))
		require.Len(t, rest.list(), 20)
	})
}
