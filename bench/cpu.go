package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// serverCPU is the processor time that Postgres has used so far, all its processes together; zero where the
// system does not tell. Unlike a rate, it does not suffer from what else the machine is doing.
func (b *bench) serverCPU() time.Duration {
	pidFile, err := os.ReadFile(filepath.Join(b.cluster.Dir(), "data", "postmaster.pid"))
	if err != nil {
		return 0
	}
	postmaster, _, _ := bytes.Cut(pidFile, []byte("\n"))
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	const hertz = 100 // of the kernel's accounts, on every Linux that matters here
	var ticks int64
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// The name, in parentheses, may contain anything; what follows it is plain.
		end := bytes.LastIndexByte(stat, ')')
		fields := bytes.Fields(stat[end+1:])
		if end < 0 || len(fields) < 13 || string(fields[1]) != string(postmaster) {
			continue
		}
		for _, field := range fields[11:13] { // user and system time
			n, _ := strconv.ParseInt(string(field), 10, 64)
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / hertz
}
