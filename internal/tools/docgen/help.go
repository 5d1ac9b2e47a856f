package docgen

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// CLIPage is the page that holds the help texts, between markers, among sentences written by hand.
const CLIPage = "docs/cli.md"

// marked is one help text in the page. The command may be empty: that is `paidonce --help`.
var marked = regexp.MustCompile("(?s)<!-- help: ([a-z ]*?) ?-->\n.*?<!-- end of help -->")

// commandLine finds the commands in the help of the whole program.
var commandLine = regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z]+)?)  +[A-Z]`)

// Program is a built paidonce.
type Program struct{ Path string }

// BuildProgram builds the command of the repository in dir into folder.
func BuildProgram(ctx context.Context, dir, into string) (Program, error) {
	path := filepath.Join(into, "paidonce")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/paidonce")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return Program{}, fmt.Errorf("build paidonce: %w: %s", err, out)
	}
	return Program{Path: path}, nil
}

// Help returns the help text of a command, such as "migrate up", or of the whole program.
func (p Program) Help(ctx context.Context, command string) (string, error) {
	cmd := exec.CommandContext(ctx, p.Path, append(strings.Fields(command), "--help")...)
	cmd.Env = []string{} // no setting of this machine may show
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("paidonce %s --help: %w", command, err)
	}
	return string(out), nil
}

// Commands lists the commands that the program has.
func (p Program) Commands(ctx context.Context) ([]string, error) {
	help, err := p.Help(ctx, "")
	if err != nil {
		return nil, err
	}
	var commands []string
	for _, match := range commandLine.FindAllStringSubmatch(help, -1) {
		commands = append(commands, match[1])
	}
	return commands, nil
}

// CLI returns the page with every help text in it as the program says it now. A command that the page does not
// mark, or marks though the program has none such, is an error.
func CLI(ctx context.Context, p Program, page string) (string, error) {
	commands, err := p.Commands(ctx)
	if err != nil {
		return "", err
	}
	missing := map[string]bool{"": true}
	for _, c := range commands {
		missing[c] = true
	}
	var firstErr error
	page = marked.ReplaceAllStringFunc(page, func(block string) string {
		command := marked.FindStringSubmatch(block)[1]
		if !missing[command] && firstErr == nil {
			firstErr = fmt.Errorf("%s marks %q, which is no command, or marks it twice", CLIPage, command)
		}
		delete(missing, command)
		help, err := p.Help(ctx, command)
		if err != nil {
			if firstErr == nil {
				firstErr = err
			}
			return block
		}
		opening, _, _ := strings.Cut(block, "\n")
		return opening + "\n```text\n" + strings.TrimSpace(trimLines(help)) + "\n```\n<!-- end of help -->"
	})
	for c := range missing {
		if firstErr == nil {
			firstErr = fmt.Errorf("%s has no place for the help of %q: add <!-- help: %s --> and <!-- end of help -->", CLIPage, c, c)
		}
	}
	return page, firstErr
}

func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
