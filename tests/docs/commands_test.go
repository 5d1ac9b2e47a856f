package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/tools/docgen"
)

var (
	assignment = regexp.MustCompile(`^([A-Z_]+='[^']*'|[A-Z_]+=\S*)$`)
	flagName   = regexp.MustCompile(`^--[a-z-]+`)
	words      = regexp.MustCompile(`'[^']*'|\S+`)
)

// usage is what the program says of itself.
type usage struct {
	commands []string
	help     map[string]string
}

func readUsage(t *testing.T) usage {
	t.Helper()
	program, err := docgen.BuildProgram(t.Context(), repository, t.TempDir())
	require.NoError(t, err)
	u := usage{help: map[string]string{}}
	u.commands, err = program.Commands(t.Context())
	require.NoError(t, err)
	for _, c := range append(u.commands, "") {
		u.help[c], err = program.Help(t.Context(), c)
		require.NoError(t, err)
	}
	return u
}

// has says whether the command, or a group of commands, is there.
func (u usage) has(command string) bool {
	return slices.ContainsFunc(u.commands, func(c string) bool { return c == command || strings.HasPrefix(c, command+" ") })
}

func (u usage) hasFlag(command, flag string) bool {
	listed := regexp.MustCompile(`(?m)^ +(-\w, )?` + regexp.QuoteMeta(flag) + `\b`)
	return listed.MatchString(u.help[command])
}

func TestCommandLines(t *testing.T) {
	t.Parallel()
	u := readUsage(t)
	for _, p := range written(t) {
		t.Run("given "+p.path+" when it shows a command line then command and flags are there", func(t *testing.T) {
			t.Parallel()
			for _, line := range p.shell() {
				u.requireLine(t, line)
			}
		})
	}
}

// requireLine checks a line that calls paidonce; of any other line, only that a flag alone is some command's.
func (u usage) requireLine(t *testing.T, line string) {
	t.Helper()
	args := words.FindAllString(line, -1)
	for len(args) > 0 && assignment.MatchString(args[0]) {
		args = args[1:]
	}
	if len(args) == 1 && flagName.MatchString(args[0]) {
		require.True(t, slices.ContainsFunc(u.commands, func(c string) bool { return u.hasFlag(c, args[0]) }), "no command has %s", args[0])
	}
	if len(args) < 2 || filepath.Base(args[0]) != "paidonce" || !regexp.MustCompile(`^[a-z]+$`).MatchString(args[1]) {
		return
	}
	command := args[1]
	require.True(t, u.has(command), "no command %q, in %q", command, line)
	if len(args) > 2 && u.has(command+" "+args[2]) {
		command += " " + args[2]
	}
	for _, arg := range args[2:] {
		if flag := flagName.FindString(arg); flag != "" {
			require.True(t, u.hasFlag(command, flag), "paidonce %s has no %s, in %q", command, flag, line)
		}
	}
}

func TestGoSnippets(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Glob(filepath.Join(repository, "go/*/example_test.go"))
	require.NoError(t, err)
	var lines []string
	for _, path := range examples {
		example, err := os.ReadFile(path)
		require.NoError(t, err)
		for line := range strings.Lines(string(example)) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	for _, p := range written(t) {
		for _, b := range p.blocks {
			if b.language != "go" {
				continue
			}
			t.Run("given Go in "+p.path+" when it is compared with the example that runs then it is the same", func(t *testing.T) {
				t.Parallel()
				for line := range strings.Lines(b.text) {
					require.Contains(t, lines, strings.TrimSpace(line), "line %d", b.line)
				}
			})
		}
	}
}
