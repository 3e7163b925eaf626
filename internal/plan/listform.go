package plan

import (
	"maps"

	"gaffer/statefile/lazyregexp"
)

// textList is a list of texts.
func textList() form[[]string] {
	item := text()
	return form[[]string]{schema{Type: "array", Items: &item.schema}, func(r *reader, name string, n *node) ([]string, bool) {
		if n.kind != list {
			r.report(n.place, "%s: found %s, want a list such as [a, b]", name, n.kind)
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

// texts is a list of texts, or one text alone.
func texts() form[[]string] {
	item, many := text(), textList()
	s := schema{AnyOf: []schema{item.schema, many.schema}}
	return form[[]string]{s, func(r *reader, name string, n *node) ([]string, bool) {
		if n.kind == list {
			return many.read(r, name, n)
		}
		if n.kind != scalar {
			r.report(n.place, "%s: found %s, want a text or a list such as [a, b]", name, n.kind)
			return nil, false
		}
		one, ok := item.read(r, name, n)
		return []string{one}, ok
	}}
}

// shell is a command line for the shell.
func shell() form[[]string] {
	line := text()
	return form[[]string]{line.schema, func(r *reader, name string, n *node) ([]string, bool) {
		s, ok := line.read(r, name, n)
		return []string{"sh", "-c", s}, ok
	}}
}

var variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environment is variables and their values. An empty value is one, too.
func environment() form[map[string]string] {
	value := schema{Type: []string{"string", "number", "boolean", "null"}}
	s := schema{
		Type: "object", Additional: &value,
		Names: &schema{Pattern: variableName().String()},
	}
	return form[map[string]string]{s, func(r *reader, name string, n *node) (map[string]string, bool) {
		if n.kind != mapping {
			r.report(n.place, "%s: found %s, want variables with values such as {PORT: 8080}", name, n.kind)
			return nil, false
		}
		vars := make(map[string]string, len(n.pairs))
		ok := true
		for _, p := range n.pairs {
			v := p.value.or(p.at)
			switch {
			case !variableName().MatchString(p.key):
				r.report(p.at, "%s: %q is no variable's name, want letters, digits and _", name, p.key)
				ok = false
			case v.kind == list || v.kind == mapping:
				r.report(v.place, "%s: %s: found %s, want a text", name, p.key, v.kind)
				ok = false
			}
			vars[p.key] = v.text
		}
		return vars, ok
	}}
}

// onto adds to the variables that are there, of the defaults, instead of
// replacing them.
func onto[T any](f form[map[string]string], to func(*T) *map[string]string) field[T] {
	return field[T]{schema: f.schema, read: func(r *reader, n *node, into *T) {
		vars, ok := f.read(r, "env", n)
		if !ok {
			return
		}
		all := maps.Clone(*to(into))
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, vars)
		*to(into) = all
	}}
}

// group is a mapping with fields of its own.
func group[V any](what string, fields []field[V], unknown unknownKeys) form[V] {
	return form[V]{objectSchema(fields), func(r *reader, _ string, n *node) (v V, ok bool) {
		readMapping(r, what, n, fields, unknown, &v)
		return v, true // the keys that are right count, so that all problems are found
	}}
}
