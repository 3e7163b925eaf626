package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// maxNesting is the maximum nesting depth of the values that users and agents set in state.json.
// Some JSON libraries fail at greater depths.
const maxNesting = 100

// Get returns the value at a path such as agentOutputs.researcher.summary or
// buildRun.chunks[0].status. In a path, a dot that is part of a name is written as \. (backslash,
// dot). Get returns a [*NotFoundError] if the value is missing or null.
func Get(state jsontree.Value, path string) (jsontree.Value, error) {
	names, err := splitPath(path)
	if err != nil {
		return jsontree.Value{}, err
	}
	v := state
	for _, name := range names {
		v = member(v, name)
	}
	if v.Absent() {
		return jsontree.Value{}, &NotFoundError{What: path + " is not set", Next: "'gaffer state get' shows what is"}
	}
	return v, nil
}

func member(v jsontree.Value, name string) jsontree.Value {
	if v.Kind() != jsontree.Array {
		return v.Get(name)
	}
	at, err := strconv.Atoi(name)
	for i, item := range v.Items() {
		if err == nil && i == at {
			return item
		}
	}
	return jsontree.Value{}
}

// Set sets the value at path and creates missing objects on the way. It returns an error if the
// value adds a violation of the workflow protocol, such as a value of the wrong type or an invalid
// time. Two deviations from the protocol are allowed: words that the protocol does not define, such
// as an unknown status, and fields that gaffer does not know. After an error, root may already
// contain the value, so the caller must discard root, as [Store.Update] does.
func Set(root *jsontree.Node, path string, value jsontree.Value) error {
	before := existingProblems(root)
	if err := place(root, path, value); err != nil {
		return err
	}
	return newProblem(root, path, before)
}

// SetText is like Set, for a value that the user typed. The text is parsed as JSON; if it is not
// JSON, it becomes a string. A number or a boolean also becomes a string if the workflow protocol
// requires a string there, so that the user can type specVersion=1.2.
func SetText(root *jsontree.Node, path, text string) error {
	if err := checkText(path, text); err != nil {
		return err
	}
	before := existingProblems(root)
	doc, err := jsontree.Parse([]byte(text))
	if err != nil {
		return setString(root, path, text, before)
	}
	if err := place(root, path, doc.Value()); err != nil {
		return err
	}
	refused := newProblem(root, path, before)
	switch doc.Value().Kind() {
	case jsontree.Number, jsontree.Bool:
		if refused != nil && setString(root, path, text, before) == nil {
			return nil
		}
	}
	return refused
}

func setString(root *jsontree.Node, path, text string, before map[string]bool) error {
	if err := place(root, path, stringValue(text)); err != nil {
		return err
	}
	return newProblem(root, path, before)
}

// Clear sets the field at path to null. If the field is absent, it is not added.
func Clear(root *jsontree.Node, path string) error {
	names, err := splitPath(path)
	if err != nil {
		return err
	}
	at := root
	for _, name := range names[:len(names)-1] {
		if at = child(at, name); at == nil {
			return nil
		}
	}
	if at.Kind() == jsontree.Array {
		return &ArgumentError{What: path, Problem: "is an item of an array; only a field can be cleared"}
	}
	clearField(at, names[len(names)-1])
	return nil
}

func place(root *jsontree.Node, path string, value jsontree.Value) error {
	names, err := splitPath(path)
	if err != nil {
		return err
	}
	if deeperThan(value, maxNesting-len(names)) {
		return &ArgumentError{What: path, Problem: fmt.Sprintf("nests deeper than %d levels", maxNesting)}
	}
	at := root
	for i, name := range names[:len(names)-1] {
		next, err := descend(at, name)
		if err != nil {
			return fmt.Errorf("%s: %w", strings.Join(names[:i+1], "."), err)
		}
		at = next
	}
	return put(at, path, names[len(names)-1], value)
}

func put(at *jsontree.Node, path, name string, value jsontree.Value) error {
	switch at.Kind() {
	case jsontree.Object:
		at.Set(name, value)
		return nil
	case jsontree.Array:
		if item := child(at, name); item != nil {
			item.Replace(value)
			return nil
		}
		return &ArgumentError{What: path, Problem: fmt.Sprintf("the array has %d items, none at %q", at.Len(), name)}
	}
	return &ArgumentError{What: path, Problem: fmt.Sprintf("%s has no field %q", at.Kind(), name)}
}

// descend returns the member of the object parent with this name, or the item of the array parent
// with this index, so that the caller can edit it. If a member of an object is missing or null,
// descend creates it as an empty object. It returns an error if the array has no such item, or if
// the member or item is neither an object nor an array.
func descend(parent *jsontree.Node, name string) (*jsontree.Node, error) {
	next := child(parent, name)
	if parent.Kind() == jsontree.Object && (next == nil || next.Kind() == jsontree.Null) {
		return parent.Object(name), nil
	}
	if next == nil || (next.Kind() != jsontree.Object && next.Kind() != jsontree.Array) {
		found := jsontree.Missing
		if next != nil {
			found = next.Kind()
		}
		return nil, &ArgumentError{What: name, Problem: fmt.Sprintf("is %s, which has no fields", found)}
	}
	return next, nil
}

func child(n *jsontree.Node, name string) *jsontree.Node {
	if n.Kind() != jsontree.Array {
		return n.Child(name)
	}
	at, err := strconv.Atoi(name)
	for i, item := range n.Items() {
		if err == nil && i == at {
			return item
		}
	}
	return nil
}

// existingProblems returns the violations of the workflow protocol that the state contains before
// an edit. They do not prevent the edit: it is refused only if it adds violations.
func existingProblems(root *jsontree.Node) map[string]bool {
	found := map[string]bool{}
	for _, f := range CheckState("", root.Value()) {
		found[f.Name+" "+f.At] = true
	}
	return found
}

func newProblem(root *jsontree.Node, path string, before map[string]bool) error {
	for _, f := range CheckState("", root.Value()) {
		if before[f.Name+" "+f.At] || !isTypeProblem(f) {
			continue
		}
		return &ArgumentError{What: path, Problem: "refused: " + f.At + ": " + f.Text}
	}
	return nil
}

// isTypeProblem reports whether [Set] refuses a value that causes the finding f, such as a value of
// the wrong type. It returns false for two sorts of findings: words that the workflow protocol does
// not define, and the field sectionReadiness, which other programs use although the protocol does
// not define it.
func isTypeProblem(f statefile.Finding) bool {
	return !strings.HasPrefix(f.Name, "unknown-") && !strings.HasSuffix(f.Name, "-in-state")
}

// splitPath splits a path such as a.b[0].c into names. In a name, a backslash escapes
// a dot, a bracket or a backslash.
func splitPath(path string) ([]string, error) {
	names := []string{""}
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '\\' && i+1 < len(path):
			i++
			names[len(names)-1] += path[i : i+1]
		case c == '.':
			names = append(names, "")
		case c == '[':
			index, rest, ok := strings.Cut(path[i+1:], "]")
			if _, err := strconv.ParseUint(index, 10, 31); !ok || err != nil {
				return nil, badPath(path, "has a bracket that holds no number")
			}
			names = append(names, index)
			i = len(path) - len(rest) - 1
		default:
			names[len(names)-1] += path[i : i+1]
		}
	}
	switch {
	case slices.Contains(names, ""):
		return nil, badPath(path, "has an empty name")
	case len(names) > maxNesting/2:
		return nil, badPath(path, fmt.Sprintf("has more than %d names", maxNesting/2))
	}
	return names, checkText("path", path)
}

func badPath(path, problem string) error {
	return &ArgumentError{
		What: fmt.Sprintf("path %q", shorten(path)), Problem: problem,
		Next: `write it as buildRun.chunks[0].status, and a dot in a name as \.`,
	}
}

// checkText returns an error if text is not UTF-8, because JSON could not store it unchanged. The
// parameter name is what the error message calls the text.
func checkText(name, text string) error {
	if !utf8.ValidString(text) {
		return &ArgumentError{What: shorten(name), Problem: "is not UTF-8, so it cannot be kept as it is"}
	}
	return nil
}

// stringValue returns text as a JSON string. The caller must pass valid UTF-8.
func stringValue(text string) jsontree.Value { return newObject(Field{"s", text}).Get("s") }

// newObject returns a JSON object with its members in the given order.
func newObject(fields ...Field) jsontree.Value {
	doc, err := jsontree.Parse([]byte("{}"))
	if err != nil {
		panic("workflow: {} is not JSON: " + err.Error())
	}
	for _, f := range fields {
		doc.Root().Set(f.Name, f.Value)
	}
	return doc.Value()
}

func deeperThan(v jsontree.Value, levels int) bool {
	if k := v.Kind(); k != jsontree.Array && k != jsontree.Object {
		return false
	}
	if levels <= 0 {
		return true
	}
	for _, item := range v.Items() {
		if deeperThan(item, levels-1) {
			return true
		}
	}
	for _, member := range v.Members() {
		if deeperThan(member, levels-1) {
			return true
		}
	}
	return false
}
