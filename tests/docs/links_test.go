package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

func TestLinks(t *testing.T) {
	t.Parallel()
	anchors := map[string]map[string]bool{}
	for _, p := range pages(t) {
		anchors[p.path] = map[string]bool{}
		for _, match := range heading.FindAllStringSubmatch(p.prose, -1) {
			anchors[p.path][slug(match[1])] = true
		}
	}
	for _, p := range pages(t) {
		t.Run("given "+p.path+" when its links are followed then each leads somewhere", func(t *testing.T) {
			t.Parallel()
			for _, match := range linkTarget.FindAllStringSubmatch(p.prose, -1) {
				target, anchor, _ := strings.Cut(match[1], "#")
				if strings.Contains(target, "://") {
					continue
				}
				path := p.path
				if target != "" {
					path = filepath.ToSlash(filepath.Join(filepath.Dir(p.path), target))
					_, err := os.Stat(filepath.Join(repository, path))
					require.NoError(t, err, match[1])
				}
				if anchor != "" {
					require.True(t, anchors[path][anchor], "no heading for %s", match[1])
				}
			}
		})
	}
}

// slug is how the web page of a repository names a heading.
func slug(title string) string {
	title = notInSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
	return strings.ReplaceAll(title, " ", "-")
}
