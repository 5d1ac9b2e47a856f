package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// temp is a TMPDIR of the test's own that Postgres's user may enter as well.
func temp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "paidonce-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o1777))
	return dir
}

// requireGone says that nothing of a throwaway Postgres is left: no file and no process.
func requireGone(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, c := range commands {
		line, err := os.ReadFile(c)
		require.False(t, err == nil && strings.Contains(string(line), dir), string(line))
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()

	t.Run("given a machine with postgres when run then it is all true and nothing is left", func(t *testing.T) {
		t.Parallel()
		dir := temp(t)
		r := execute(t, []string{"TMPDIR=" + dir}, "demo")
		require.Zero(t, r.code, r.out+r.err)
		require.Contains(t, r.out, "All of it is true")
		require.Empty(t, r.err, "no noise")
		requireGone(t, dir)
	})

	for name, moment := range map[string]string{
		"given it sets up when interrupted then nothing is left":           "data",
		"given postgres has started when interrupted then nothing is left": "data/postmaster.pid",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := temp(t)
			p := start(t, command(t, []string{"TMPDIR=" + dir}, "demo"))
			require.Eventually(t, func() bool {
				found, _ := filepath.Glob(filepath.Join(dir, "*", moment))
				return len(found) > 0
			}, 20*time.Second, 5*time.Millisecond)
			p.signal(t, os.Interrupt)
			require.ErrorContains(t, p.wait(t, 20*time.Second), "exit status 1")
			requireGone(t, dir)
		})
	}

	t.Run("given dev when its own send line is pasted and it is ended then all of it works and nothing is left", func(t *testing.T) {
		t.Parallel()
		dir := temp(t)
		cmd := command(t, []string{"TMPDIR=" + dir}, "dev")
		out := filepath.Join(t.TempDir(), "out")
		file, err := os.Create(out)
		require.NoError(t, err)
		defer file.Close()
		cmd.Stdout = file
		p := start(t, cmd)
		line := regexp.MustCompile(`(?m)^  (?:send|look) +(.*)$`)
		var lines [][]string
		require.Eventually(t, func() bool {
			text, _ := os.ReadFile(out)
			lines = line.FindAllStringSubmatch(string(text), -1)
			return len(lines) == 2 && strings.HasSuffix(string(text), "\n\n")
		}, 40*time.Second, 20*time.Millisecond)

		shell := func(line string) string {
			sh := exec.Command("sh", "-c", line)
			sh.Env = []string{asCommand + "=1", "PATH=" + os.Getenv("PATH")}
			text, err := sh.CombinedOutput()
			require.NoError(t, err, string(text))
			return string(text)
		}
		sent := shell(lines[0][1])
		require.Contains(t, sent, "1 × 200 processed")
		require.Contains(t, sent, "4 × 200 duplicate")
		require.Contains(t, shell(lines[1][1]), "checkout.session.completed")

		p.signal(t, syscall.SIGTERM)
		require.NoError(t, p.wait(t, 20*time.Second))
		requireGone(t, dir)
	})
}
