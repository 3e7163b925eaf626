package plan

import (
	"maps"

	"gaffer/internal/plan/secret"
	"gaffer/statefile/lazyregexp"
)

// textList is the form of a list of texts.
func textList() form[[]string] {
	item := text()
	return form[[]string]{schema{Type: "array", Items: &item.schema}, func(r *reader, name string, n *node) ([]string, bool) {
		if n.kind != list {
			r.report(n.position, "%s: found %s, want a list such as [a, b]", name, n.kind)
			return nil, false
		}
		texts := make([]string, 0, len(n.items))
		for _, i := range n.items {
			if s, ok := item.read(r, name, i); ok {
				texts = append(texts, s)
			}
		}
		return texts, len(texts) == len(n.items)
	}}
}

// texts is the form of a list of texts or of a single text.
func texts() form[[]string] {
	item, many := text(), textList()
	s := schema{AnyOf: []schema{item.schema, many.schema}}
	return form[[]string]{s, func(r *reader, name string, n *node) ([]string, bool) {
		if n.kind == list {
			return many.read(r, name, n)
		}
		if n.kind != scalar {
			r.report(n.position, "%s: found %s, want a text or a list such as [a, b]", name, n.kind)
			return nil, false
		}
		one, ok := item.read(r, name, n)
		return []string{one}, ok
	}}
}

// shell is the form of a shell command line.
func shell() form[[]string] {
	line := text()
	return form[[]string]{line.schema, func(r *reader, name string, n *node) ([]string, bool) {
		s, ok := line.read(r, name, n)
		return []string{"sh", "-c", s}, ok
	}}
}

var variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// referenceFields returns the keys of a reference to a value.
func referenceFields() []field[secret.Value] {
	return []field[secret.Value]{
		key("from", choice(secret.Env, secret.File, secret.Command), func(v *secret.Value) *secret.From { return &v.From },
			"where the worker finds the value when it starts the agent: in its own environment, in a file, or in what a command prints", "from: file").must(),
		key("name", text(), func(v *secret.Value) *string { return &v.Name },
			"the variable in the worker's environment, with from: env; the same name if absent", "name: MY_API_KEY"),
		key("path", text(), func(v *secret.Value) *string { return &v.Path },
			"the file on the worker, with from: file; absolute or from ~/", "path: ~/.secrets/key"),
		key("argv", textList(), func(v *secret.Value) *[]string { return &v.Argv },
			"the program and its arguments, with from: command", "argv: [pass, show, api-key]"),
	}
}

// variables is the form of a mapping from names to values. read reads a value or
// reports a problem.
func variables[V any](value schema, read func(r *reader, name string, n *node) (V, bool)) form[map[string]V] {
	s := schema{
		Type: "object", Additional: &value,
		Names: &schema{Pattern: variableName().String()},
	}
	return form[map[string]V]{s, func(r *reader, name string, n *node) (map[string]V, bool) {
		if n.kind != mapping {
			r.report(n.position, "%s: found %s, want variables with values such as {PORT: 8080}", name, n.kind)
			return nil, false
		}
		vars := make(map[string]V, len(n.pairs))
		ok := true
		for _, p := range n.pairs {
			if !variableName().MatchString(p.key) {
				r.report(p.at, "%s: %q is no variable's name, want letters, digits and _", name, p.key)
				ok = false
				continue
			}
			v, fine := read(r, p.key, p.value.or(p.at))
			vars[p.key] = v
			ok = ok && fine
		}
		return vars, ok
	}}
}

func anyText() schema { return schema{Type: []string{"string", "number", "boolean", "null"}} }

// textVariables is the form of variables whose values are texts, which may be empty.
func textVariables(key string) form[map[string]string] {
	return variables(anyText(), func(r *reader, name string, n *node) (string, bool) {
		if n.kind == list || n.kind == mapping {
			r.report(n.position, "%s: %s: found %s, want a text", key, name, n.kind)
			return "", false
		}
		return n.text, true
	})
}

// environment is the form of variables whose values are texts or references.
func environment() form[map[string]secret.Value] {
	fields := referenceFields()
	s := schema{AnyOf: []schema{anyText(), objectSchema(fields)}}
	return variables(s, func(r *reader, name string, n *node) (v secret.Value, ok bool) {
		switch n.kind {
		case list:
			r.report(n.position, "env: %s: found %s, want a text, or a reference such as {from: file, path: ~/.secrets/key}", name, n.kind)
			return v, false
		case mapping:
			before := len(r.problems)
			readMapping(r, "the reference of "+name, n, fields, rejected, &v)
			if len(r.problems) > before {
				return v, false
			}
			if err := v.Check(); err != nil {
				r.report(n.position, "env: %s: %v", name, err)
				return v, false
			}
			return v, true
		}
		v = secret.Text(n.text)
		if secret.LooksSecret(name, v) {
			r.warn(n.position, "env: the value of %s looks like a secret, and a plan's values are stored in the database: write {from: env}, {from: file, path: ~/.secrets/key} or {from: command, argv: [pass, show, key]} instead", name)
		}
		return v, true
	})
}

// onto returns a field that adds to the variables of the defaults instead of
// replacing them.
func onto[T any](f form[map[string]secret.Value], to func(*T) *map[string]secret.Value) field[T] {
	return field[T]{schema: f.schema, read: func(r *reader, n *node, into *T) {
		vars, ok := f.read(r, "env", n)
		if !ok {
			return
		}
		all := maps.Clone(*to(into))
		if all == nil {
			all = map[string]secret.Value{}
		}
		maps.Copy(all, vars)
		*to(into) = all
	}}
}

// group is the form of a mapping with its own fields.
func group[V any](what string, fields []field[V], unknown unknownKeys) form[V] {
	return form[V]{objectSchema(fields), func(r *reader, _ string, n *node) (v V, ok bool) {
		readMapping(r, what, n, fields, unknown, &v)
		return v, true // use the valid keys, so that all problems are found
	}}
}
