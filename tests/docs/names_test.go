package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

var (
	fileName     = regexp.MustCompile(`^[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]+)*(\.(go|sql|md|toml|sh|json|psql)|/)$`)
	variable     = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b`)
	psqlVariable = regexp.MustCompile(`-v [A-Z_]+=`)
	makeTarget   = regexp.MustCompile(`(?:^|\s)make ([a-z]+)`)
	goTest       = regexp.MustCompile(`^go test (.*)$`)
	inSchema     = regexp.MustCompile(`\bpaidonce\.([a-z_]+)(?:\.([a-z_]+))?`)
	metric       = regexp.MustCompile(`\bpaidonce_[a-z_]+_(?:total|seconds|open|max|in_use)\b`)
	testDeclare  = regexp.MustCompile(`(?m)^func (Test\w+|Example\w*)\(`)
)

func TestFiles(t *testing.T) {
	t.Parallel()
	for _, p := range written(t) {
		t.Run("given "+p.path+" when it names a file then the file is there", func(t *testing.T) {
			t.Parallel()
			for _, span := range p.spans() {
				if !fileName.MatchString(span) || span == "config.toml" {
					continue
				}
				pattern := strings.ReplaceAll(span, "**", "*")
				fromRoot, err := filepath.Glob(filepath.Join(repository, pattern))
				require.NoError(t, err)
				fromPage, err := filepath.Glob(filepath.Join(repository, filepath.Dir(p.path), pattern))
				require.NoError(t, err)
				require.NotEmpty(t, append(fromRoot, fromPage...), "no file %s", span)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	code := source(t, "cmd", "internal", "go", "scripts", "tests/order", "tests/facts", "Makefile")

	for _, p := range written(t) {
		t.Run("given "+p.path+" when it names an environment variable then the code knows it", func(t *testing.T) {
			t.Parallel()
			for _, line := range p.shell() {
				for _, name := range variable.FindAllString(psqlVariable.ReplaceAllString(line, ""), -1) {
					require.True(t, strings.Contains(code, name), "no code knows %s, in %q", name, line)
				}
			}
		})
	}
	t.Run("given a variable that the command reads when the page of commands is read then it is there", func(t *testing.T) {
		t.Parallel()
		page, err := os.ReadFile(filepath.Join(repository, "docs/cli.md"))
		require.NoError(t, err)
		names := regexp.MustCompile(`env:"([A-Z_]+)"`).FindAllStringSubmatch(source(t, "cmd"), -1)
		require.NotEmpty(t, names)
		for _, name := range names {
			require.True(t, strings.Contains(string(page), "| `"+name[1]+"` |"), "%s is missing", name[1])
		}
	})
}

func TestTargets(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	require.NoError(t, err)
	for _, p := range written(t) {
		t.Run("given "+p.path+" when it says make then there is such a target", func(t *testing.T) {
			t.Parallel()
			for _, line := range p.shell() {
				for _, match := range makeTarget.FindAllStringSubmatch(line, -1) {
					require.True(t, strings.Contains(string(makefile), "\n"+match[1]+": "), "no target %s, in %q", match[1], line)
				}
			}
		})
	}
}

func TestTestsNamed(t *testing.T) {
	t.Parallel()
	for _, p := range written(t) {
		t.Run("given "+p.path+" when it shows a thing by go test then there is such a test", func(t *testing.T) {
			t.Parallel()
			for _, line := range p.shell() {
				match := goTest.FindStringSubmatch(strings.TrimSpace(line))
				if match == nil {
					continue
				}
				requireTest(t, strings.Fields(match[1]))
			}
		})
	}
}

// requireTest looks at the arguments of go test: packages and -run.
func requireTest(t *testing.T, args []string) {
	t.Helper()
	var code strings.Builder
	for i := 0; i < len(args); i++ {
		switch arg := strings.Trim(args[i], "'"); {
		case strings.HasPrefix(arg, "./"):
			folder := strings.TrimSuffix(strings.TrimPrefix(arg, "./"), "/...")
			code.WriteString(source(t, folder))
		case arg == "-run":
			i++
			declared := map[string]bool{}
			for _, match := range testDeclare.FindAllStringSubmatch(code.String(), -1) {
				declared[match[1]] = true
			}
			for name := range strings.SplitSeq(strings.Trim(args[i], "'"), "|") {
				require.True(t, declared[name], "no test %s in %v", name, args)
			}
		}
	}
}

func TestNamesInTheSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	known := map[string]bool{"schema_migrations": true}
	for _, name := range pgtest.One[[]string](t, db, `
		select array(
			select relname::text from pg_class where relnamespace = 'paidonce'::regnamespace
			union select proname::text from pg_proc where pronamespace = 'paidonce'::regnamespace
			union select c.relname || '.' || a.attname from pg_class as c join pg_attribute as a on a.attrelid = c.oid
			where c.relnamespace = 'paidonce'::regnamespace)`) {
		known[name] = true
	}
	for _, p := range written(t) {
		t.Run("given "+p.path+" when it names a thing of the schema then it is there", func(t *testing.T) {
			t.Parallel()
			for _, span := range p.spans() {
				for _, match := range inSchema.FindAllStringSubmatch(span, -1) {
					name := match[1]
					if match[2] != "" {
						name += "." + match[2]
					}
					require.True(t, known[name], "paidonce.%s, in %q", name, span)
				}
			}
		})
	}
}

func TestMetricsNamed(t *testing.T) {
	t.Parallel()
	code := source(t, "go", "internal/server")
	http, err := os.ReadFile(filepath.Join(repository, "docs/http.md"))
	require.NoError(t, err)

	t.Run("given a metric in a page when the code is searched then it is there", func(t *testing.T) {
		t.Parallel()
		for _, p := range written(t) {
			for _, name := range metric.FindAllString(p.prose, -1) {
				require.True(t, strings.Contains(code, `"`+name+`"`), "%s, in %s", name, p.path)
			}
		}
	})
	t.Run("given a metric of the handler when the page about it is read then it is there", func(t *testing.T) {
		t.Parallel()
		for _, quoted := range regexp.MustCompile(`"(paidonce_[a-z_]+)"`).FindAllStringSubmatch(source(t, "go/webhook", "internal/server"), -1) {
			require.True(t, strings.Contains(string(http), "`"+quoted[1]+"`"), "%s is missing", quoted[1])
		}
	})
}

func TestAuditNamed(t *testing.T) {
	t.Parallel()
	t.Run("given a check of the audit when the page for who is on call is read then it is there", func(t *testing.T) {
		t.Parallel()
		view := source(t, "sql/views")
		page, err := os.ReadFile(filepath.Join(repository, "docs/operations.md"))
		require.NoError(t, err)
		checks := regexp.MustCompile(`(?m)^select '([a-z_]+)'`).FindAllStringSubmatch(view, -1)
		require.NotEmpty(t, checks)
		for _, check := range checks {
			require.True(t, strings.Contains(string(page), "| `"+check[1]+"` |"), "%s is missing", check[1])
		}
	})
}

// source is everything in some folders or files of the repository, as one text. Missing ones are passed over.
func source(t *testing.T, names ...string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range names {
		err := filepath.WalkDir(filepath.Join(repository, name), func(path string, entry fs.DirEntry, err error) error {
			if os.IsNotExist(err) || (err == nil && entry.IsDir()) {
				return nil
			} else if err != nil {
				return err
			}
			raw, err := os.ReadFile(path)
			all.Write(raw)
			return err
		})
		require.NoError(t, err)
	}
	return all.String()
}
