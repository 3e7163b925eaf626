package plan

import (
	"maps"
	"slices"
	"strings"
)

// field describes one key of a mapping. Tables of fields define what a format's
// reader accepts, its JSON Schema, and the check of its documentation.
type field[T any] struct {
	name     string
	doc      string // one line, without a full stop
	example  string // YAML, at least one line
	required bool
	schema   schema
	read     func(r *reader, n *node, into *T)
}

// key returns a field whose value has a form and is stored in a place of T.
func key[T, V any](name string, f form[V], to func(*T) *V, doc, example string) field[T] {
	return field[T]{name: name, doc: doc, example: example, schema: f.schema, read: func(r *reader, n *node, into *T) {
		if v, ok := f.read(r, name, n); ok {
			*to(into) = v
		}
	}}
}

// suchAs returns an example if it fits on the line.
func (f field[T]) suchAs() string {
	if strings.Contains(f.example, "\n") {
		return ""
	}
	return ", such as " + f.example
}

func (f field[T]) must() field[T] {
	f.required = true
	return f
}

// unknownKeys says how unknown keys are handled.
type unknownKeys int

const (
	rejected  unknownKeys = iota
	tolerated             // unless it looks like a misspelt key: ignoring that would change the plan
)

// readMapping reads the pairs of n into T and returns the known ones by key. what
// names the mapping in problems, such as "a task".
func readMapping[T any](r *reader, what string, n *node, fields []field[T], unknown unknownKeys, into *T) map[string]pair {
	given := map[string]pair{}
	if n == nil {
		n = &node{} // an empty file
	}
	if n.kind != mapping {
		r.report(n.position, "%s is keys with values, found %s", what, n.kind)
		return given
	}
	for _, p := range n.pairs {
		i := slices.IndexFunc(fields, func(f field[T]) bool { return f.name == p.key })
		if i < 0 {
			if meant := unknownKey(r, what, p, fields, unknown); meant != "" {
				given[meant] = p // so that it is not reported as missing, too
			}
			continue
		}
		given[p.key] = p
		fields[i].read(r, p.value.or(p.at), into)
	}
	for _, f := range fields {
		if _, ok := given[f.name]; f.required && !ok {
			r.report(n.position, "%s needs the key %q%s", what, f.name, f.suchAs())
		}
	}
	return given
}

func unknownKey[T any](r *reader, what string, p pair, fields []field[T], unknown unknownKeys) (meant string) {
	meant = r.near(p.key, fieldNames(fields))
	if unknown == tolerated && meant == "" || strings.HasPrefix(p.key, freeKey) {
		return ""
	}
	r.report(p.at, "%s has no key %q", what, p.key)
	r.problems[len(r.problems)-1].Suggestion = meant
	return meant
}

// freeKey is the prefix of keys that gaffer ignores. Plans use them for values that
// anchors share.
const freeKey = "x-"

func fieldNames[T any](fields []field[T]) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// or returns the node with a position: its own, or at for an absent value or a
// mapping, so that problems are reported at the key.
func (n *node) or(at position) *node {
	if n.line > 0 && n.kind != mapping {
		return n
	}
	placed := *n
	placed.position = at
	return &placed
}

// places returns the positions of the texts in a value that is one text or a list.
func (n *node) places() []position {
	if n.kind != list {
		return []position{n.position}
	}
	places := make([]position, len(n.items))
	for i, item := range n.items {
		places[i] = item.position
	}
	return places
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
