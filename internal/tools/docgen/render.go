package docgen

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Reference makes a page per table, per view and per function that is there to be called, and their index, from a
// migrated database and the files that declare them.
func Reference(ctx context.Context, db *pgx.Conn, root fs.FS) (Pages, error) {
	c, err := readCatalog(ctx, db)
	if err != nil {
		return nil, err
	}
	found, err := declarations(root)
	if err != nil {
		return nil, fmt.Errorf("read the declared schema: %w", err)
	}
	pages := Pages{}
	for _, r := range c.relations {
		source, err := lookUp(found, "relation paidonce."+r.Name)
		if err != nil {
			return nil, err
		}
		if pages[r.page()], err = r.render(source.path); err != nil {
			return nil, err
		}
	}
	c.routines = slices.DeleteFunc(c.routines, func(r routine) bool { return !r.isForUsers() })
	for _, r := range c.routines {
		source, err := lookUp(found, "routine "+r.qualified())
		if err != nil {
			return nil, err
		}
		if _, twice := pages[r.page()]; twice {
			return nil, fmt.Errorf("%s exists with several lists of arguments, which would share one page", r.qualified())
		}
		if pages[r.page()], err = r.render(source); err != nil {
			return nil, err
		}
	}
	pages[folder+"/README.md"] = index(c)
	return pages, nil
}

func (r relation) page() string {
	if r.IsView {
		return folder + "/views/" + r.Name + ".md"
	}
	return folder + "/tables/" + r.Name + ".md"
}

func (r routine) page() string { return folder + "/functions/" + r.Name + ".md" }

func (r relation) render(source string) (string, error) {
	what := "Table"
	if r.IsView {
		what = "View"
	}
	if r.Comment == "" {
		return "", fmt.Errorf("paidonce.%s has no comment", r.Name)
	}
	var b strings.Builder
	head(&b, "paidonce."+r.Name, source)
	fmt.Fprintf(&b, "%s. %s\n\n", what, r.Comment)
	fmt.Fprintf(&b, "Declared in %s.\n\n", link(r.page(), source))

	b.WriteString("## Columns\n\n| column | type | null | default | meaning |\n|---|---|---|---|---|\n")
	for _, c := range r.columns {
		if c.Comment == "" {
			return "", fmt.Errorf("paidonce.%s.%s has no comment", r.Name, c.Name)
		}
		null := "yes"
		if c.NotNull {
			null = "no"
		}
		if r.IsView {
			null = ""
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", c.Name, c.Type, null, code(c.Default), cell(c.Comment))
	}

	b.WriteString("\n## Who may read it\n\n")
	if len(r.Grants) == 0 {
		b.WriteString("The owner of the schema, and nobody else.\n")
	} else {
		b.WriteString("The owner of the schema, and by grant:\n\n")
		for _, g := range r.Grants {
			fmt.Fprintf(&b, "- %s\n", g)
		}
	}
	if r.IsView {
		b.WriteString("\nThe view runs with the rights of whoever asks: the policies of the tables below it decide which rows are seen.\n")
	}
	if len(r.policies) > 0 {
		b.WriteString("\nRow level security is on. Policies:\n\n")
		for _, p := range r.policies {
			fmt.Fprintf(&b, "- %s (for %s, to %s)\n", p.Name, p.Command, p.Roles)
		}
	}
	if len(r.details) > 0 {
		b.WriteString("\n## Constraints, indexes, triggers\n\n| kind | name | definition |\n|---|---|---|\n")
		for _, d := range r.details {
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", d.Kind, d.Name, code(d.Definition))
		}
	}
	return b.String(), nil
}

func (r routine) render(source declaration) (string, error) {
	if r.Comment == "" {
		return "", fmt.Errorf("%s has no comment", r.qualified())
	}
	var b strings.Builder
	head(&b, r.qualified(), source.path)
	fmt.Fprintf(&b, "%s\n\n```\n%s(%s)", r.Comment, r.qualified(), r.Arguments)
	if r.Result != "" {
		fmt.Fprintf(&b, "\n    returns %s", r.Result)
	}
	b.WriteString("\n```\n\n")
	for _, e := range source.header {
		fmt.Fprintf(&b, "- **%s**: %s\n", e.label, e.text)
	}
	callers := "the owner of the schema only"
	if len(r.Callers) > 0 {
		callers = "the owner of the schema, " + strings.Join(r.Callers, ", ")
	}
	fmt.Fprintf(&b, "- **Callers**: %s\n", callers)
	fmt.Fprintf(&b, "- **Properties**: %s, security %s", r.Volatility, r.Security)
	for _, s := range r.Settings {
		fmt.Fprintf(&b, ", `%s`", s)
	}
	fmt.Fprintf(&b, "\n- **Declared in**: %s\n", link(r.page(), source.path))
	return b.String(), nil
}

// forOwners are called by the owner of the schema, by hand or inside effects, and do not say so in their comments.
var forOwners = []string{"enqueue", "enqueue_once", "requeue_outbox"}

// isForUsers says which functions have a page: those granted to a role, those whose comment ends in "Owner only."
// and those above. Every other one is internal.
func (r routine) isForUsers() bool {
	return len(r.Callers) > 0 || strings.HasSuffix(r.Comment, "Owner only.") || slices.Contains(forOwners, r.Name)
}

func index(c catalog) string {
	var b strings.Builder
	head(&b, "Reference", "the comments in sql/ and functions/")
	b.WriteString("One page per table, view and function to call, made from the database itself by `make docs`. Other functions are internal:\n")
	b.WriteString("their names and arguments may change from version to version, and the headers of their files below `functions/` say what they do.\n")
	b.WriteString("`go test ./internal/tools/docgen` fails where a page is out of date.\n")

	list := func(title, words string, rows [][2]string) {
		if len(rows) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n## %s\n\n", title)
		if words != "" {
			b.WriteString(words + "\n\n")
		}
		b.WriteString("| name | what it is |\n|---|---|\n")
		for _, row := range rows {
			fmt.Fprintf(&b, "| [%s](%s) | %s |\n", path.Base(strings.TrimSuffix(row[0], ".md")), strings.TrimPrefix(row[0], folder+"/"), cell(row[1]))
		}
	}
	var users, tables, views [][2]string
	for _, r := range c.routines {
		users = append(users, [2]string{r.page(), r.Comment})
	}
	for _, r := range c.relations {
		row := [2]string{r.page(), r.Comment}
		if r.IsView {
			views = append(views, row)
		} else {
			tables = append(tables, row)
		}
	}
	list("Functions to call", "Each page says which roles may. Those that no role may call are for the owner of the schema and for effects.", users)
	list("Views", "", views)
	list("Tables", "", tables)
	return b.String()
}

func head(b *strings.Builder, title, source string) {
	fmt.Fprintf(b, "<!-- Made by `make docs` from %s. Edit that, not this page. -->\n\n# %s\n\n", source, title)
}

func link(page, target string) string { return fmt.Sprintf("[%s](%s%s)", target, up(page), target) }

// cell makes a text fit into a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "*", `\*`).Replace(text)
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.NewReplacer("|", `\|`, "\n", " ").Replace(text) + "`"
}
