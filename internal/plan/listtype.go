package plan

import (
	"maps"

	"gaffer/internal/plan/secret"
	"gaffer/statefile/lazyregexp"
)

// textList is the value type of a list of texts.
func textList() valueType[[]string] {
	item := text()
	return valueType[[]string]{schema{Type: "array", Items: &item.schema}, func(r *reporter, name string, n *node) ([]string, bool) {
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

// textOrList is the value type of a list of texts that may also be written as a single text.
func textOrList() valueType[[]string] {
	item, many := text(), textList()
	s := schema{AnyOf: []schema{item.schema, many.schema}}
	return valueType[[]string]{s, func(r *reporter, name string, n *node) ([]string, bool) {
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

// shell is the value type of a shell command. The value is the list of arguments that runs the
// command in a shell.
func shell() valueType[[]string] {
	line := text()
	return valueType[[]string]{line.schema, func(r *reporter, name string, n *node) ([]string, bool) {
		s, ok := line.read(r, name, n)
		return []string{"sh", "-c", s}, ok
	}}
}

var variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// referenceKeys returns the keys of a mapping that refers to a secret.
func referenceKeys() []keySpec[secret.Value] {
	return []keySpec[secret.Value]{
		newKey("from", choice(secret.Env, secret.File, secret.Command), func(v *secret.Value) *secret.From { return &v.From },
			"where the worker finds the value when it starts the agent: in its own environment, in a file, or in what a command prints", "from: file").require(),
		newKey("name", text(), func(v *secret.Value) *string { return &v.Name },
			"the variable in the worker's environment, with from: env; the same name if absent", "name: MY_API_KEY"),
		newKey("path", text(), func(v *secret.Value) *string { return &v.Path },
			"the file on the worker, with from: file; absolute or from ~/", "path: ~/.secrets/key"),
		newKey("argv", textList(), func(v *secret.Value) *[]string { return &v.Argv },
			"the program and its arguments, with from: command", "argv: [pass, show, api-key]"),
	}
}

// variables is the value type of a mapping from names of variables to their values. The parameter
// read is a function that reads one value. If the value is not valid, it reports a problem and
// returns false.
func variables[V any](value schema, read func(r *reporter, name string, n *node) (V, bool)) valueType[map[string]V] {
	s := schema{
		Type: "object", Additional: &value,
		Names: &schema{Pattern: variableName().String()},
	}
	return valueType[map[string]V]{s, func(r *reporter, name string, n *node) (map[string]V, bool) {
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
			v, fine := read(r, p.key, p.value.withPosition(p.at))
			vars[p.key] = v
			ok = ok && fine
		}
		return vars, ok
	}}
}

func anyText() schema { return schema{Type: []string{"string", "number", "boolean", "null"}} }

// textVariables is the value type of variables whose values are texts. A text may be empty.
func textVariables(key string) valueType[map[string]string] {
	return variables(anyText(), func(r *reporter, name string, n *node) (string, bool) {
		if n.kind == list || n.kind == mapping {
			r.report(n.position, "%s: %s: found %s, want a text", key, name, n.kind)
			return "", false
		}
		return n.text, true
	})
}

// environment is the value type of environment variables. Each value is a text or a reference to a
// secret.
func environment() valueType[map[string]secret.Value] {
	keys := referenceKeys()
	s := schema{AnyOf: []schema{anyText(), objectSchema(keys)}}
	return variables(s, func(r *reporter, name string, n *node) (v secret.Value, ok bool) {
		switch n.kind {
		case list:
			r.report(n.position, "env: %s: found %s, want a text, or a reference such as {from: file, path: ~/.secrets/key}", name, n.kind)
			return v, false
		case mapping:
			before := len(r.problems)
			readMapping(r, "the reference of "+name, n, keys, rejected, &v)
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

// addToDefaults returns a keySpec for a mapping of variables; the caller sets its name. A task
// starts with the variables of the section "defaults". The function read of the keySpec adds the
// task's own variables to them. If a default variable has the same name, the task's own variable
// replaces it.
func addToDefaults[T any](f valueType[map[string]secret.Value], field func(*T) *map[string]secret.Value) keySpec[T] {
	return keySpec[T]{schema: f.schema, read: func(r *reporter, n *node, into *T) {
		vars, ok := f.read(r, "env", n)
		if !ok {
			return
		}
		all := maps.Clone(*field(into))
		if all == nil {
			all = map[string]secret.Value{}
		}
		maps.Copy(all, vars)
		*field(into) = all
	}}
}

// nestedMapping is the value type of a mapping with the given keys.
func nestedMapping[V any](what string, keys []keySpec[V], unknown unknownKeys) valueType[V] {
	return valueType[V]{objectSchema(keys), func(r *reporter, _ string, n *node) (v V, ok bool) {
		readMapping(r, what, n, keys, unknown, &v)
		return v, true // return true even after a problem, so that later checks can find more problems
	}}
}
