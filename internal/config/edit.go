package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"gaffer/internal/yamldoc"
	"gaffer/statefile"
	"gaffer/statefile/host"
)

// EditLists changes settings that are lists in the configuration file at path. The parameter keys
// contains the names of these settings, such as permissions.allow. The function change may change
// the lists in its parameter, which maps the name of each setting in the file to its value as a
// list. EditLists then writes the changed lists of the settings in keys to the file, and ignores
// other changes. It creates the file if it does not exist. It returns an error if a list in the
// file has a form that gaffer cannot edit, for example [a, b] with a comment.
func EditLists(path string, keys []string, change func(lists map[string][]string)) error {
	// Try at most this many times if another program changes the file at the same time.
	const tries = 5
	for try := 1; ; try++ {
		err := editLists(path, keys, change)
		if (errors.Is(err, statefile.ErrChanged) || errors.Is(err, fs.ErrExist)) && try < tries {
			continue
		}
		return err
	}
}

func editLists(path string, keys []string, change func(lists map[string][]string)) error {
	old, err := readRegular(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return &Error{Origin: Origin{File: path}, Err: err}
	}
	before, err := listsIn(path, old)
	if err != nil {
		return err
	}
	after := maps.Clone(before)
	change(after)
	data := old
	for _, key := range keys {
		if slices.Equal(before[key], after[key]) {
			continue
		}
		if data, err = setList(path, data, key, after[key]); err != nil {
			return err
		}
	}
	switch {
	case string(data) == string(old):
		return nil
	case missing:
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		return statefile.WriteNew(host.OS(), path, data, 0o666)
	}
	return statefile.Replace(host.OS(), path, old, data)
}

// listsIn returns the values of all settings in data, the text of the configuration file at path,
// each as a list. It leaves out empty lists. A setting with a single value becomes a list with one
// item.
func listsIn(path string, data []byte) (map[string][]string, error) {
	values, err := parse(path, data)
	lists := map[string][]string{}
	for _, v := range values {
		if list := splitList(v.Text); len(list) > 0 {
			lists[v.Key.Name] = list
		}
	}
	return lists, err
}

// setList sets the list of a key in data, the text of a configuration file, and returns the new
// text. The key has two parts, such as permissions.allow. The parameter path is used only in
// errors. setList returns an error if the list in data has a form that gaffer cannot edit, for
// example [a, b] with a comment.
func setList(path string, data []byte, key string, values []string) ([]byte, error) {
	section, name, _ := strings.Cut(key, ".")
	byHand := &Error{
		Origin: Origin{File: path}, Err: keyError{key, errors.New("is written in a way that gaffer cannot change")},
		Next: "edit the file: the list belongs below " + section + ": and " + name + ":",
	}
	want, err := listsIn(path, data)
	if err != nil {
		return nil, err
	}
	if want[key] = values; len(values) == 0 {
		delete(want, key)
	}
	body, err := yamldoc.Parse(data)
	if err != nil {
		return nil, err
	}
	text := string(data)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	d := document{slices.Collect(strings.Lines(text))}
	switch root := body.(type) {
	case nil:
		d.insert(len(d.lines), append([]string{section + ":\n"}, block("  ", name, values)...))
	case *ast.MappingNode:
		if root.IsFlowStyle || !d.set(root, section, name, values, want) {
			return nil, byHand
		}
	default:
		return nil, byHand
	}
	result := []byte(strings.Join(d.lines, ""))
	// Parse the new text, to check that nothing but this list has changed.
	if got, err := listsIn(path, result); err != nil || !maps.EqualFunc(got, want, slices.Equal) {
		return nil, byHand
	}
	return result, nil
}

// document is the text of a YAML file, in lines that end with a newline.
type document struct{ lines []string }

func (d *document) insert(at int, lines []string) { d.lines = slices.Insert(d.lines, at, lines...) }

// block returns the YAML lines of a key and its list: a line for the key and a line for each value.
// For an empty list, it returns one line with the key and [].
func block(indent, name string, values []string) []string {
	lines := []string{indent + name + ":\n"}
	for _, v := range values {
		lines = append(lines, item(indent+"  ", v))
	}
	if len(values) == 0 {
		lines[0] = indent + name + ": []\n"
	}
	return lines
}

// item returns the YAML line of one list item. It quotes the value as a JSON string, which is also
// a valid YAML string.
func item(indent, value string) string {
	quoted := joinList([]string{value})
	return fmt.Sprintf("%s- %s\n", indent, quoted[1:len(quoted)-1])
}

// set sets the list of the key SECTION.NAME in the document. It returns false if it cannot make the
// change. The parameter root is the parsed document. The parameter lists maps each key to its list
// after the change; set uses it if it must write a whole section again.
func (d *document) set(root *ast.MappingNode, section, name string, values []string, lists map[string][]string) bool {
	at := indexOf(root, section)
	if at < 0 {
		d.insert(len(d.lines), append([]string{section + ":\n"}, block("  ", name, values)...))
		return true
	}
	first, end := d.span(root, at, len(d.lines))
	inner, _ := root.Values[at].Value.(*ast.MappingNode)
	if inner == nil || inner.IsFlowStyle { // the section is empty, or in YAML's flow style, such as {allow: [Bash]}
		if d.comments(first, end) {
			return false
		}
		lines := []string{section + ":\n"}
		for _, key := range slices.Sorted(maps.Keys(lists)) {
			if own, ok := strings.CutPrefix(key, section+"."); ok {
				lines = append(lines, block("  ", own, lists[key])...)
			}
		}
		d.lines = slices.Replace(d.lines, first, end, lines...)
		return true
	}
	indent := strings.Repeat(" ", column(inner.Values[0])-1)
	at = indexOf(inner, name)
	if at < 0 {
		d.insert(end, block(indent, name, values))
		return true
	}
	first, end = d.span(inner, at, end)
	if list, ok := inner.Values[at].Value.(*ast.SequenceNode); ok && !list.IsFlowStyle && len(values) > 0 {
		return d.setItems(list, values)
	}
	if d.comments(first, end) {
		return false
	}
	var lines []string
	if len(values) > 0 || len(inner.Values) == 1 {
		lines = block(indent, name, values)
	}
	d.lines = slices.Replace(d.lines, first, end, lines...)
	return true
}

// setItems changes a list in the document, so that its items are those in values. It removes all
// other items, and appends the values that the list lacks. If an item of the list is not a single
// value on a line of its own, setItems changes nothing and returns false.
func (d *document) setItems(list *ast.SequenceNode, values []string) bool {
	missing := slices.Clone(values)
	var lines []int // index of each item's line
	var removed []int
	for _, n := range list.Values {
		line, _ := yamldoc.Position(n.GetToken())
		scalar, ok := n.(ast.ScalarNode)
		if !ok || slices.Contains(lines, line-1) || !strings.HasPrefix(strings.TrimSpace(d.lines[line-1]), "-") {
			return false
		}
		lines = append(lines, line-1)
		value := text(scalar)
		if !slices.Contains(values, value) {
			removed = append(removed, line-1)
		}
		missing = slices.DeleteFunc(missing, func(v string) bool { return v == value })
	}
	last := lines[len(lines)-1]
	indent := d.lines[last][:strings.IndexByte(d.lines[last], '-')]
	var added []string
	for _, v := range missing {
		added = append(added, item(indent, v))
	}
	d.insert(last+1, added)
	for _, line := range slices.Backward(removed) {
		d.lines = slices.Delete(d.lines, line, line+1)
	}
	return true
}

// span returns which lines the key-value pair m.Values[at] occupies: the index of its first line,
// and the index of the line after its last one. Blank lines and comments after the pair do not
// belong to it. The parameter end is the index of the line after the mapping m.
func (d *document) span(m *ast.MappingNode, at, end int) (first, after int) {
	line, _ := yamldoc.Position(m.Values[at].Key.GetToken())
	if at+1 < len(m.Values) {
		next, _ := yamldoc.Position(m.Values[at+1].Key.GetToken())
		end = next - 1
	}
	for end > line {
		trimmed := strings.TrimSpace(d.lines[end-1])
		if trimmed != "" && !strings.HasPrefix(trimmed, "#") {
			break
		}
		end--
	}
	return line - 1, end
}

// comments reports whether the lines from first up to, but not including, end may contain a
// comment: whether one of them contains the character #.
func (d *document) comments(first, end int) bool {
	return slices.ContainsFunc(d.lines[first:end], func(line string) bool { return strings.Contains(line, "#") })
}

func indexOf(m *ast.MappingNode, key string) int {
	return slices.IndexFunc(m.Values, func(v *ast.MappingValueNode) bool { return v.Key.GetToken().Value == key })
}

func column(pair *ast.MappingValueNode) int {
	_, column := yamldoc.Position(pair.Key.GetToken())
	return column
}
