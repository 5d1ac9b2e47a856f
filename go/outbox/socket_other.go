//go:build !linux

package outbox

import "syscall"

// boundUnacknowledged has nothing to set here; keepalive and the heartbeat remain.
func boundUnacknowledged(string, string, syscall.RawConn) error { return nil }
