//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// The test binary stands in for the program, so that it can be sent signals.
const asProgram = "PAIDONCE_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	t.Parallel()

	t.Run("given a command, when it ends, then run exits as it did and leaves nothing", func(t *testing.T) {
		t.Parallel()
		p := start(t, "read line; exit 7")
		require.NoError(t, p.stdin.Close())
		require.Equal(t, 7, p.exit(t))
		p.requireNothingLeft(t)
	})

	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(fmt.Sprintf("given a command and its child, when run gets %v, then nothing is left", signal), func(t *testing.T) {
			t.Parallel()
			p := start(t, "sleep 60 & wait")
			require.NoError(t, p.cmd.Process.Signal(signal))
			require.Equal(t, 130, p.exit(t))
			p.requireNothingLeft(t)
		})
	}

	t.Run("given a running command, when run is killed, then postgres ends by itself", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS != "linux" {
			t.Skip("only Linux tells a process of its parent's death")
		}
		p := start(t, "read line")
		t.Cleanup(func() { os.RemoveAll(p.folder) })
		require.NoError(t, p.cmd.Process.Kill())
		require.Equal(t, -1, p.exit(t))
		require.Eventually(t, func() bool {
			_, err := os.Stat(filepath.Join(p.folder, "data", "postmaster.pid"))
			return os.IsNotExist(err)
		}, 10*time.Second, 50*time.Millisecond)
	})

	t.Run("given no command, when run starts, then it says how to call it", func(t *testing.T) {
		t.Parallel()
		code, err := run([]string{"true"})
		require.Equal(t, 2, code)
		require.ErrorContains(t, err, "usage")
	})
}

type program struct {
	cmd    *exec.Cmd
	stdin  interface{ Close() error }
	group  int    // of the command's processes
	folder string // of its cluster
}

// start runs a shell script under run and waits until it is under way.
func start(t *testing.T, script string) *program {
	t.Helper()
	cmd := exec.Command(os.Args[0], "--", "sh", "-c", "echo $$ $PAIDONCE_TEST_CLUSTER; "+script)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &program{cmd: cmd, stdin: stdin}
	var url string
	_, err = fmt.Fscan(bufio.NewReader(stdout), &p.group, &url)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	require.NoError(t, conn.QueryRow(t.Context(), "show data_directory").Scan(&p.folder))
	p.folder = filepath.Dir(p.folder)
	return p
}

func (p *program) exit(t *testing.T) int {
	t.Helper()
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

func (p *program) requireNothingLeft(t *testing.T) {
	t.Helper()
	require.NoDirExists(t, p.folder)
	require.Eventually(t, func() bool {
		return syscall.Kill(-p.group, 0) == syscall.ESRCH
	}, 5*time.Second, 20*time.Millisecond, "processes of the command are left")
}
