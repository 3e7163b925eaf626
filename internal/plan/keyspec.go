package plan

import (
	"maps"
	"slices"
	"strings"
)

// keySpec describes one key of a YAML or JSON mapping. The key's value is read into a field of a T.
// A list of keySpecs defines which keys a mapping may have. For gaffer's own format, the JSON
// Schema and the page docs/reference/plan.md are generated from such lists.
type keySpec[T any] struct {
	name     string
	doc      string // description of the key in one line, without a full stop
	example  string // example of the key in YAML, in one or more lines
	required bool
	schema   schema
	read     func(r *reporter, n *node, into *T)
}

// newKey returns a key with the given name and the value type f. The function field returns a
// pointer to the field of a T in which the value is stored.
func newKey[T, V any](name string, f valueType[V], field func(*T) *V, doc, example string) keySpec[T] {
	return keySpec[T]{name: name, doc: doc, example: example, schema: f.schema, read: func(r *reporter, n *node, into *T) {
		if v, ok := f.read(r, name, n); ok {
			*field(into) = v
		}
	}}
}

// exampleText returns the example as the end of a message, for example ", such as id: api". It
// returns "" if the example has several lines.
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

// unknownKeys says what readMapping does with unknown keys.
type unknownKeys int

const (
	rejected  unknownKeys = iota
	tolerated             // accept unknown keys, but report a key that looks like a misspelt known key
)

// readMapping reads the values of the mapping n into target, and reports problems with its keys and
// values. It returns the pairs of n with known keys, by their keys; a pair with a misspelt key is
// under the key that was probably meant. mappingName is the name of the mapping in reports of
// problems, for example "a task".
func readMapping[T any](r *reporter, mappingName string, n *node, keys []keySpec[T], unknown unknownKeys, target *T) map[string]pair {
	given := map[string]pair{}
	if n == nil {
		n = &node{} // n is nil if the file is empty: treat that like a key without a value
	}
	if n.kind != mapping {
		r.report(n.position, "%s is keys with values, found %s", mappingName, n.kind)
		return given
	}
	for _, p := range n.pairs {
		i := slices.IndexFunc(keys, func(f keySpec[T]) bool { return f.name == p.key })
		if i < 0 {
			if meant := unknownKey(r, mappingName, p, keys, unknown); meant != "" {
				given[meant] = p // prevents a report that the correct key is missing
			}
			continue
		}
		given[p.key] = p
		keys[i].read(r, p.value.withPosition(p.at), target)
	}
	for _, f := range keys {
		if _, ok := given[f.name]; f.required && !ok {
			r.report(n.position, "%s needs the key %q%s", mappingName, f.name, f.exampleText())
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

// ignoredKeyPrefix is the prefix of keys that gaffer ignores. Under keys with this prefix, authors
// of plans can define YAML anchors.
const ignoredKeyPrefix = "x-"

func keyNames[T any](keys []keySpec[T]) []string {
	names := make([]string, len(keys))
	for i, f := range keys {
		names[i] = f.name
	}
	return names
}

// withPosition returns n with the position that reports of problems with n should name. That is the
// position of its key if n is a mapping or has no known position, and otherwise the position of n
// itself.
func (n *node) withPosition(keyPosition position) *node {
	if n.line > 0 && n.kind != mapping {
		return n
	}
	placed := *n
	placed.position = keyPosition
	return &placed
}

// positions returns the position of each text in n, which is a text or a list of texts.
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
