package docgen

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/paidonce/paidonce/internal/tools/schema"
)

// declaration is where something is declared, and what the comment above it says.
type declaration struct {
	path   string
	header []entry
}

// entry is one line of a header, such as Raises, with its continuation lines.
type entry struct{ label, text string }

var (
	declared    = regexp.MustCompile(`^create (?:or replace )?(table|view|function|procedure) (?:if not exists )?([a-z_]+\.(?:[a-z_]+|"[a-z_]+"))`)
	headerLabel = regexp.MustCompile(`^-- ([A-Z][a-z]+): +(.*)$`)
)

// declarations finds every table, view and function of the declared schema. Kinds have names of their own: a table
// and a function may share one.
func declarations(root fs.FS) (map[string]declaration, error) {
	sections, err := schema.Load(root)
	if err != nil {
		return nil, err
	}
	found := map[string]declaration{}
	for _, s := range sections {
		var comment []string
		for line := range strings.Lines(s.Text) {
			line = strings.TrimRight(line, "\n")
			match := declared.FindStringSubmatch(line)
			switch {
			case match != nil:
				found[kind(match[1])+" "+strings.ReplaceAll(match[2], `"`, "")] = declaration{path: s.Path, header: entries(comment)}
				comment = nil
			case strings.HasPrefix(line, "--"):
				comment = append(comment, line)
			default:
				comment = nil
			}
		}
	}
	return found, nil
}

func kind(word string) string {
	switch word {
	case "table", "view":
		return "relation"
	}
	return "routine"
}

func entries(comment []string) []entry {
	var found []entry
	for _, line := range comment {
		if match := headerLabel.FindStringSubmatch(line); match != nil {
			found = append(found, entry{match[1], match[2]})
		} else if len(found) > 0 {
			found[len(found)-1].text += " " + strings.TrimSpace(strings.TrimPrefix(line, "--"))
		}
	}
	return found
}

func lookUp(found map[string]declaration, key string) (declaration, error) {
	d, ok := found[key]
	if !ok {
		return d, fmt.Errorf("%s is in the database, but no file below sql/ or functions/ declares it", key)
	}
	return d, nil
}

// up is the way from a page to the repository's root.
func up(page string) string { return strings.Repeat("../", strings.Count(path.Clean(page), "/")) }
