package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

// asCommand makes the test binary be the command: the tests run it as a process of its own, with the race
// detector in it where the tests have one.
const asCommand = "PAIDONCE_TEST_AS_COMMAND"

const secret = "whsec_of_the_tests"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	pgtest.Main(m)
}

// command prepares a run. Its environment is only what is named, so that no setting of the machine leaks in.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // one that hangs must not hang the tests
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append([]string{asCommand + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, env...)
	return cmd
}

// ran is the end of a run.
type ran struct {
	code     int
	out, err string
}

func execute(t *testing.T, env []string, args ...string) ran {
	t.Helper()
	cmd := command(t, env, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return ran{code: cmd.ProcessState.ExitCode(), out: out.String(), err: errOut.String()}
}

// succeed runs a command that must exit with 0.
func succeed(t *testing.T, env []string, args ...string) string {
	t.Helper()
	r := execute(t, env, args...)
	require.Zero(t, r.code, "%v\n%s%s", args, r.out, r.err)
	return r.out
}

// at is the environment of somebody who uses the database at url.
func at(url string) []string { return []string{"DATABASE_URL=" + url} }

// owner is the environment of somebody who looks at the database.
func owner(db *pgtest.DB) []string { return at(db.URL("postgres")) }

// edge creates a login for the handler that may do nothing but execute the entry point.
func edge(t *testing.T, db *pgtest.DB) string {
	t.Helper()
	role := "edge_" + db.Name
	db.Exec(t, "create role "+role+" in role paidonce_edge")
	t.Cleanup(func() {
		_, err := db.Pool.Exec(context.Background(), "drop role "+role)
		require.NoError(t, err)
	})
	return db.Login(t, role)
}

// process is a command that goes on running.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how; read it after done
	mu   sync.Mutex
	log  bytes.Buffer // standard error so far
}

// start runs a command whose standard error is kept, and kills it at the end of the test if it still runs.
func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	p := &process{cmd: cmd, done: make(chan struct{})}
	require.NoError(t, cmd.Start())
	go func() {
		lines := bufio.NewReader(stderr)
		for {
			line, err := lines.ReadString('\n')
			p.mu.Lock()
			p.log.WriteString(line)
			p.mu.Unlock()
			if err != nil {
				p.err = cmd.Wait()
				close(p.done)
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.done
	})
	return p
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// signal asks the process to end.
func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(s))
}

// wait returns how the process ended.
func (p *process) wait(t *testing.T, patience time.Duration) error {
	t.Helper()
	select {
	case <-p.done:
		return p.err
	case <-time.After(patience):
		require.Fail(t, "still running", p.text())
		return nil
	}
}

// serve starts a handler on a free port and returns its webhook's URL once it listens.
func serve(t *testing.T, databaseURL string, args ...string) (*process, string) {
	t.Helper()
	env := append(at(databaseURL), "STRIPE_WEBHOOK_SECRET="+secret)
	p := start(t, command(t, env, append([]string{"serve", "--addr", "127.0.0.1:0", "--log-format", "json"}, args...)...))
	var addr string
	require.Eventually(t, func() bool {
		for line := range strings.Lines(p.text()) {
			var entry struct{ Msg, Addr string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "listening" {
				addr = entry.Addr
				return true
			}
		}
		return false
	}, 20*time.Second, 10*time.Millisecond, "the handler must say where it listens")
	return p, "http://" + addr + "/webhooks/stripe"
}

// eventFile writes an event to a file and returns its path.
func eventFile(t *testing.T, id, eventType, object string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), id+".json")
	body := fmt.Sprintf(`{"id":%q,"object":"event","type":%q,"created":%d,"livemode":false,"data":{"object":%s}}`+"\n",
		id, eventType, time.Now().Unix(), object)
	require.NoError(t, os.WriteFile(path, []byte(body), 0o644))
	return path
}

// app gives the database an application whose effect for invoice.paid books a row, asks for an e-mail, takes
// as long as app.mood says, and raises if it says so.
func app(t *testing.T, db *pgtest.DB) {
	t.Helper()
	db.Exec(t, `
		create schema app;
		create table app.bookings (invoice_id text);
		create table app.mood (seconds double precision, reason text);
		insert into app.mood values (0, null);
		create function app.book(event jsonb) returns void language plpgsql set search_path = '' as $$
		declare
			v_mood app.mood;
		begin
			select m.* into v_mood from app.mood as m;
			insert into app.bookings values (event #>> '{data,object,id}');
			perform paidonce.enqueue(event, 'email.receipt', '{}');
			perform pg_catalog.pg_sleep(v_mood.seconds);
			if v_mood.reason is not null then
				raise exception '%', v_mood.reason;
			end if;
		end $$;
		select paidonce.on('invoice.paid', 'app.book(jsonb)');`)
}

const invoice = `{"id":"in_1","object":"invoice","customer":"cus_1","total":2900}`

func count(t *testing.T, db *pgtest.DB, from string, args ...any) int64 {
	t.Helper()
	return pgtest.One[int64](t, db, "select count(*) from "+from, args...)
}

func send(url string, more ...string) []string {
	return append([]string{"send", "--secret", secret, "--url", url}, more...)
}
