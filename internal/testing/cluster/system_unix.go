//go:build unix && !linux

package cluster

import (
	"bytes"
	"os/exec"
	"strconv"
	"syscall"
)

// attributes of a Postgres process: out of the terminal's reach, so that
// Ctrl-C does not stop it before whoever uses it.
func attributes(o *owner) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if o != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(o.uid), Gid: uint32(o.gid)}
	}
	return attr
}

func childrenOf(parent int) ([]int, error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	var children []int
	for line := range bytes.Lines(out) {
		fields := bytes.Fields(line)
		if len(fields) == 2 && string(fields[1]) == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(string(fields[0]))
			children = append(children, pid)
		}
	}
	return children, err
}
