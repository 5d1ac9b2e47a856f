package schema

import (
	"fmt"
	"slices"
	"strings"
)

// object is something a statement creates and a down file has to drop.
type object struct {
	kind string // as in drop KIND: "table", "function", "materialized view", …
	name string // qualified, as written
	args string // functions: the parameters without their defaults
	on   string // policies, triggers, indexes: their table
	head string // what the statement that creates it cannot change where it exists already
}

func (o object) key() string {
	switch o.kind {
	case "policy", "trigger":
		return o.kind + " " + o.name + " on " + o.on
	}
	return o.kind + " " + o.name + o.args
}

// drop is the statement that takes the object away, harmless where it is gone.
func (o object) drop() string {
	switch o.kind {
	case "policy", "trigger":
		return fmt.Sprintf("drop %s if exists %s on %s;\n", o.kind, o.name, o.on)
	case "index":
		// An index lives in the schema of its table.
		if dot := strings.LastIndexByte(o.on, '.'); dot >= 0 {
			return fmt.Sprintf("drop index if exists %s.%s;\n", o.on[:dot], o.name)
		}
	}
	return fmt.Sprintf("drop %s if exists %s%s;\n", o.kind, o.name, o.args)
}

// hangsOnTable says that nothing depends on the object, while it may itself
// depend on any column of its table: it has to be out of the way first.
func (o object) hangsOnTable() bool { return o.on != "" }

// holdsData says that dropping the object loses more than a definition. The
// tool never drops such a thing on the way up.
func (o object) holdsData() bool {
	switch o.kind {
	case "table", "type", "domain", "sequence":
		return true
	}
	return false
}

// keptKinds are created by migrations and never dropped: schema paidonce also
// holds the table that golang-migrate keeps, roles belong to the whole
// cluster, and an extension may have other users.
var keptKinds = []string{"schema", "role", "extension"}

var knownKinds = []string{"table", "type", "domain", "sequence", "view", "function", "procedure", "trigger", "policy", "index"}

// objects lists what a section creates, in order, each once.
func objects(s Section) ([]object, error) {
	statements, err := scan(s.Text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	var found []object
	for _, st := range statements {
		o, ok, err := created(st)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Path, err)
		}
		if ok && !slices.ContainsFunc(found, func(seen object) bool { return seen.key() == o.key() }) {
			found = append(found, o)
		}
	}
	return found, nil
}

func allObjects(sections []Section) ([]object, error) {
	var all []object
	for _, s := range sections {
		found, err := objects(s)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// created reads the object out of a create statement.
func created(st statement) (object, bool, error) {
	words := reader{st: st}
	if !words.skip("create") {
		return object{}, false, nil
	}
	if words.skip("or") {
		words.skip("replace")
	}
	for words.skip("unique") || words.skip("unlogged") || words.skip("constraint") || words.skip("recursive") {
	}
	kind := words.take()
	if kind == "materialized" {
		kind += " " + words.take()
	}
	if slices.Contains(keptKinds, kind) {
		return object{}, false, nil
	}
	if kind != "materialized view" && !slices.Contains(knownKinds, kind) {
		return object{}, false, fmt.Errorf("no rule how to drop what %q creates", firstLine(st.text))
	}
	words.skip("concurrently")
	if words.skip("if") {
		words.skip("not")
		words.skip("exists")
	}
	o := object{kind: kind, name: words.name()}
	switch kind {
	case "function", "procedure":
		args, err := words.parens()
		if err != nil {
			return object{}, false, fmt.Errorf("%w in %q", err, firstLine(st.text))
		}
		o.args = "(" + strings.Join(withoutDefaults(args), ", ") + ")"
		o.head = spell(args) + " " + words.returns()
	case "policy", "trigger", "index":
		for !words.skip("on") {
			if words.take() == "" {
				return object{}, false, fmt.Errorf("no table in %q", firstLine(st.text))
			}
		}
		words.skip("only")
		o.on = words.name()
		o.head = spell(st.tokens)
	}
	return o, true, nil
}

// reader walks the tokens of one statement.
type reader struct {
	st statement
	at int
}

func (r *reader) peek() string {
	if r.at >= len(r.st.tokens) {
		return ""
	}
	return r.st.tokens[r.at].text
}

func (r *reader) take() string {
	text := r.peek()
	r.at++
	return text
}

func (r *reader) skip(text string) bool {
	if r.peek() != text {
		return false
	}
	r.at++
	return true
}

// name takes a possibly qualified name.
func (r *reader) name() string {
	name := r.take()
	for r.skip(".") {
		name += "." + r.take()
	}
	return name
}

// parens takes a parenthesised list and returns its inner tokens.
func (r *reader) parens() ([]token, error) {
	if !r.skip("(") {
		return nil, fmt.Errorf("no parameter list")
	}
	start, depth := r.at, 1
	for ; r.at < len(r.st.tokens); r.at++ {
		switch r.peek() {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth == 0 {
			inner := r.st.tokens[start:r.at]
			r.at++
			return inner, nil
		}
	}
	return nil, fmt.Errorf("open parameter list")
}

// returns takes the returns clause, which ends where the next clause begins.
func (r *reader) returns() string {
	ends := []string{"", "language", "volatile", "stable", "immutable", "strict", "called", "returns", "security", "set", "as", "parallel", "cost", "rows", "leakproof", "not", "window", "support", "transform"}
	if !r.skip("returns") {
		return ""
	}
	start := r.at
	if r.skip("table") {
		// A column of the table may be called like a clause.
		_, _ = r.parens()
	}
	for !slices.Contains(ends, r.peek()) {
		r.at++
	}
	return spell(r.st.tokens[start:r.at])
}

// withoutDefaults returns the parameters, each as drop function wants it.
func withoutDefaults(args []token) []string {
	var (
		params []string
		depth  int
		cur    []token
		skip   bool
	)
	flush := func() {
		if len(cur) > 0 {
			params = append(params, spell(cur))
		}
		cur, skip = nil, false
	}
	for _, t := range args {
		switch t.text {
		case "(", "[":
			depth++
		case ")", "]":
			depth--
		case "default", "=":
			skip = skip || depth == 0
		case ",":
			if depth == 0 {
				flush()
				continue
			}
		}
		if !skip {
			cur = append(cur, t)
		}
	}
	flush()
	return params
}

// spell writes tokens with one space where the source had any, so that the
// layout of a declaration does not matter.
func spell(tokens []token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 && (tokens[i-1].text == "," || tokens[i-1].end < t.start && t.text != ")" && t.text != "," && tokens[i-1].text != "(") {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
