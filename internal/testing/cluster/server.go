package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is one run of the postgres program.
type server struct {
	process *os.Process
	done    chan struct{} // closed once the process has ended
}

// launch starts postgres and waits until it answers. An early end is tried
// again a few times: the port may have been taken since it was picked, or the
// memory of a killed run may not be released yet.
func (c *Cluster) launch(ctx context.Context, newPort bool) error {
	var err error
	for range 5 {
		if newPort {
			if c.port, err = freePort(); err != nil {
				return err
			}
		}
		var s *server
		if s, err = c.startServer(); err != nil {
			return err
		}
		if err = c.awaitReady(ctx, s); err == nil {
			c.mu.Lock()
			c.server = s
			c.mu.Unlock()
			return nil
		}
		s.quit()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(100 * time.Millisecond)
	}
	out, _ := os.ReadFile(c.logFile())
	return fmt.Errorf("%w: %s", err, lastLines(out))
}

func (c *Cluster) startServer() (*server, error) {
	log, err := os.OpenFile(c.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(c.binDir, "postgres"), "-D", c.folder.data(), "-p", strconv.Itoa(c.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		// Shared memory as files of the folder: a killed run leaves nothing elsewhere.
		"-c", "dynamic_shared_memory_type=mmap")
	for name, value := range c.settings {
		cmd.Args = append(cmd.Args, "-c", name+"="+value)
	}
	cmd.Stdout, cmd.Stderr = log, log
	c.folder.prepare(cmd)
	return runServer(cmd)
}

// runServer starts and reaps the process from one goroutine bound to its
// thread: on Linux the kernel tells a child of its parent's death when the
// thread that started it ends, and Go may end any other thread early.
func runServer(cmd *exec.Cmd) (*server, error) {
	s := &server{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // what went wrong stands in the log file
			close(s.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	s.process = cmd.Process
	return s, nil
}

func (c *Cluster) awaitReady(ctx context.Context, s *server) error {
	for {
		conn, err := c.connect(ctx, "postgres")
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.done:
			return errors.New("postgres ended at once")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// connect opens a connection as the superuser.
func (c *Cluster) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	return pgx.Connect(ctx, c.URL(Superuser, database))
}

// quit asks for an immediate shutdown and, if that takes too long, kills.
func (s *server) quit() {
	_ = s.process.Signal(syscall.SIGQUIT)
	select {
	case <-s.done:
	case <-time.After(10 * time.Second):
		_ = s.kill()
	}
}

// kill ends the postmaster and its children. The postmaster is halted first,
// so that it can neither start another child nor tidy up after one.
func (s *server) kill() error {
	_ = s.process.Signal(stopSignal)
	pids, err := childrenOf(s.process.Pid)
	for _, pid := range pids {
		if child, err := os.FindProcess(pid); err == nil {
			_ = child.Kill()
		}
	}
	if killed := s.process.Kill(); killed != nil && !errors.Is(killed, os.ErrProcessDone) {
		return killed
	}
	<-s.done
	return err
}

func (c *Cluster) logFile() string { return filepath.Join(c.folder.path, "postgres.log") }

// freePort picks a port below the range that systems use for outgoing
// connections: nobody takes it by accident while the cluster is down.
func freePort() (int, error) {
	for range 100 {
		port := 15000 + rand.IntN(15000)
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, errors.New("no free port between 15000 and 29999")
}

// lastLines returns the end of a program's output for an error message.
func lastLines(out []byte) string {
	lines := slices.Collect(bytes.Lines(bytes.TrimSpace(out)))
	return string(bytes.Join(lines[max(0, len(lines)-5):], nil))
}
