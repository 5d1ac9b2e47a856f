package outbox

import (
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// boundUnacknowledged makes the kernel give a connection up whose other end has not confirmed what was sent
// to it, instead of sending it again for a quarter of an hour.
func boundUnacknowledged(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	const limit = 30 * time.Second
	var err error
	if controlErr := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
	}); controlErr != nil {
		return controlErr
	}
	return err
}
