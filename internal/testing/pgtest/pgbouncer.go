package pgtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// PgBouncer starts a transaction pooler in front of db and returns the URL of the role postgres through it.
// It has fewer server connections than a test has clients, so that every session state gets mixed up.
// The test is skipped where PgBouncer is not installed.
func PgBouncer(t testing.TB, db *DB) string {
	t.Helper()
	return startPgBouncer(t, db, "transaction", 3)
}

// SessionPgBouncer is PgBouncer with a server connection for every client.
func SessionPgBouncer(t testing.TB, db *DB) string {
	t.Helper()
	return startPgBouncer(t, db, "session", 10)
}

func startPgBouncer(t testing.TB, db *DB, mode string, servers int) string {
	t.Helper()
	binary := findPgBouncer()
	if binary == "" {
		t.Skip("PgBouncer is not installed: install the package pgbouncer to run this test")
	}
	direct, err := url.Parse(db.URL("postgres"))
	require.NoError(t, err)
	password, _ := direct.User.Password()

	// Not t.TempDir: the folder must be open to the user that PgBouncer switches to.
	folder, err := os.MkdirTemp("", "paidonce-pgbouncer-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	port := freePort(t)
	users := filepath.Join(folder, "users.txt")
	config := filepath.Join(folder, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(users, fmt.Appendf(nil, "%q %q\n", "postgres", password), 0o600))
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `[databases]
%s = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
pool_mode = %s
default_pool_size = %d
max_client_conn = 200
`, db.Name, direct.Hostname(), direct.Port(), port, users, mode, servers), 0o600))

	cmd := exec.Command(binary, config)
	if os.Geteuid() == 0 { // PgBouncer refuses to stay root, as Postgres does
		cmd.Args = append(cmd.Args, "--user", giveAway(t, folder, users, config))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("PgBouncer said:\n%s", out.String())
		}
	})

	pooled := *direct
	pooled.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.NoError(c, connects(pooled.String()))
	}, 10*time.Second, 50*time.Millisecond)
	return pooled.String()
}

func findPgBouncer() string {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer", "/opt/homebrew/bin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// giveAway makes the files belong to a user that is not root and returns the user's name.
func giveAway(t testing.TB, paths ...string) string {
	t.Helper()
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(account.Uid)
		require.NoError(t, err)
		gid, err := strconv.Atoi(account.Gid)
		require.NoError(t, err)
		for _, path := range paths {
			require.NoError(t, os.Chown(path, uid, gid))
		}
		return name
	}
	t.Fatal("there is neither a user postgres nor a user nobody to run PgBouncer as")
	return ""
}

func freePort(t testing.TB) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

func connects(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}
