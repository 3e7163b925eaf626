package plan

import (
	"maps"
	"slices"
	"strings"
)

// keySpec describes one key of a YAML or JSON mapping that is read into a T. Lists of
// keySpecs define what a format accepts, and its JSON Schema. Tests compare them with the
// documentation.
type keySpec[T any] struct {
	name     string
	doc      string // one line, without a full stop
	example  string // YAML of one or more lines
	required bool
	schema   schema
	read     func(r *reporter, n *node, into *T)
}

// newKey returns a key whose value has the type f. to returns the field of a T that the
// value is stored in.
func newKey[T, V any](name string, f valueType[V], to func(*T) *V, doc, example string) keySpec[T] {
	return keySpec[T]{name: name, doc: doc, example: example, schema: f.schema, read: func(r *reporter, n *node, into *T) {
		if v, ok := f.read(r, name, n); ok {
			*to(into) = v
		}
	}}
}

// exampleText returns the example as part of a message, or "" if it has several lines.
func (f keySpec[T]) exampleText() string {
	if strings.Contains(f.example, "\n") {
		return ""
	}
	return ", such as " + f.example
}

func (f keySpec[T]) require() keySpec[T] {
	f.required = true
	return f
}

// unknownKeys says how unknown keys are handled.
type unknownKeys int

const (
	rejected  unknownKeys = iota
	tolerated             // accept unknown keys, but report keys that look like a misspelt known key
)

// readMapping reads the values of a mapping into a T, and returns the given pairs by key.
// what names the mapping in problems, such as "a task".
func readMapping[T any](r *reporter, what string, n *node, keys []keySpec[T], unknown unknownKeys, into *T) map[string]pair {
	given := map[string]pair{}
	if n == nil {
		n = &node{} // the file is empty
	}
	if n.kind != mapping {
		r.report(n.position, "%s is keys with values, found %s", what, n.kind)
		return given
	}
	for _, p := range n.pairs {
		i := slices.IndexFunc(keys, func(f keySpec[T]) bool { return f.name == p.key })
		if i < 0 {
			if meant := unknownKey(r, what, p, keys, unknown); meant != "" {
				given[meant] = p // the misspelt key must not be reported as missing, too
			}
			continue
		}
		given[p.key] = p
		keys[i].read(r, p.value.withPosition(p.at), into)
	}
	for _, f := range keys {
		if _, ok := given[f.name]; f.required && !ok {
			r.report(n.position, "%s needs the key %q%s", what, f.name, f.exampleText())
		}
	}
	return given
}

func unknownKey[T any](r *reporter, what string, p pair, keys []keySpec[T], unknown unknownKeys) (meant string) {
	meant = r.near(p.key, keyNames(keys))
	if unknown == tolerated && meant == "" || strings.HasPrefix(p.key, ignoredKeyPrefix) {
		return ""
	}
	r.report(p.at, "%s has no key %q", what, p.key)
	r.problems[len(r.problems)-1].Suggestion = meant
	return meant
}

// ignoredKeyPrefix is the prefix of keys that gaffer ignores. Plans define YAML anchors in
// such keys.
const ignoredKeyPrefix = "x-"

func keyNames[T any](keys []keySpec[T]) []string {
	names := make([]string, len(keys))
	for i, f := range keys {
		names[i] = f.name
	}
	return names
}

// withPosition returns a value with the position at which its problems are reported. For a
// mapping or a missing value, that is the position of its key, at.
func (n *node) withPosition(at position) *node {
	if n.line > 0 && n.kind != mapping {
		return n
	}
	placed := *n
	placed.position = at
	return &placed
}

// positions returns the positions of the texts in a value that is a text or a list of
// texts.
func (n *node) positions() []position {
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
