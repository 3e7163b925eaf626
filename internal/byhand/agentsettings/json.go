package agentsettings

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"gaffer/statefile/jsontree"
)

type jsonWriter struct{}

func dotted(path []string) string { return strings.Join(path, ".") }

func (jsonWriter) check(text []byte) error {
	_, err := parseJSON(text)
	return err
}

func (jsonWriter) inspect(old []byte, entries []Entry) (inspection, error) {
	t, err := parseJSON(old)
	if err != nil {
		return inspection{}, err
	}
	c, err := compare(entries, t.state)
	return inspection{complete: len(c.missing) == 0 && t.countOurs(entries) == c.present, kept: c.kept, nonStandard: t.nonStandard}, err
}

// comparison is the result of comparing a file with the entries that it should have.
type comparison struct {
	missing []Entry // entries that the file lacks, or has with another value
	present int     // number of entries that the file has with the right value
	// kept names the settings entries that gaffer does not write, because the file has a value of
	// another program at their path. The names are values of [Entry.What].
	kept []string
}

func compare(entries []Entry, stateOf func(Entry) (entryState, error)) (c comparison, err error) {
	for _, e := range entries {
		if e.Value == nil {
			continue
		}
		s, err := stateOf(e)
		if err != nil {
			return comparison{}, err
		}
		switch s {
		case absent:
			c.missing = append(c.missing, e)
		case present:
			c.present++
		case foreign:
			c.kept = append(c.kept, e.What)
		}
	}
	return c, nil
}

// entryState says whether a file has an entry, and whether that entry is gaffer's.
type entryState int

const (
	// absent means that the file lacks the entry, or has another value that gaffer may replace.
	absent entryState = iota
	// present means that the entry has the right value. An entry that the user has extended, for
	// example with an argument, counts as present if its command is right.
	present
	// foreign means that the value at the entry's path was not written by gaffer. gaffer does not
	// replace this value.
	foreign
)

func (t *jsonText) state(e Entry) (entryState, error) {
	at, rest, err := t.descend(e)
	if err != nil || len(rest) > 0 || at.Kind() == jsontree.Missing {
		return absent, err
	}
	want, err := decoded(e.Value)
	if err != nil {
		return absent, err
	}
	if e.Item {
		for _, item := range at.Items() {
			if reflect.DeepEqual(jsontree.Interface(item), want) {
				return present, nil
			}
		}
		return absent, nil
	}
	switch got := jsontree.Interface(at); {
	case reflect.DeepEqual(got, want), e.isExtended(got, want) && e.hasCommand(got):
		return present, nil
	case e.IsOurs(got) || e.Force:
		return absent, nil
	}
	return foreign, nil
}

// descend follows an entry's path as far as the file has it. It returns the value at which it
// stopped, and the remaining names of the path. It fails if a value on the path has the wrong type.
func (t *jsonText) descend(e Entry) (value jsontree.Value, rest []string, err error) {
	value = t.root
	if value.Kind() == jsontree.Missing {
		return value, e.Path, nil
	}
	for i, name := range e.Path {
		if value.Kind() != jsontree.Object {
			return value, nil, t.shapeError(value, e.Path[:i], jsontree.Object)
		}
		next := value.Get(name)
		if next.Kind() == jsontree.Missing {
			return value, e.Path[i:], nil
		}
		value = next
	}
	if e.Item && value.Kind() != jsontree.Array {
		return value, nil, t.shapeError(value, e.Path, jsontree.Array)
	}
	return value, nil, nil
}

func (jsonWriter) fixCommands(old []byte, entries []Entry) (extended, rest []Entry, splices []Splice, err error) {
	t, err := parseJSON(old)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, e := range entries {
		line, ok, err := t.extended(e)
		if err != nil {
			return nil, nil, nil, err
		}
		if !ok {
			rest = append(rest, e)
			continue
		}
		extended = append(extended, e)
		text, err := encoded(e.FixCommand(line.Text()))
		if err != nil {
			return nil, nil, nil, err
		}
		place, _ := line.Position()
		splices = append(splices, Splice{At: place.From, Old: bytes.Clone(old[place.From:place.To]), New: text})
	}
	return extended, rest, ordered(splices), nil
}

// extended finds out whether the user has extended the entry e in the file, for example with an
// argument. If so, ok is true and line is the command that the entry has in the file.
func (t *jsonText) extended(e Entry) (line jsontree.Value, ok bool, err error) {
	if e.FixCommand == nil || e.Value == nil {
		return line, false, nil
	}
	at, rest, err := t.descend(e)
	if err != nil || len(rest) > 0 {
		return line, false, err
	}
	want, err := decoded(e.Value)
	if err != nil {
		return line, false, err
	}
	return at.Get(commandMember), e.isExtended(jsontree.Interface(at), want), nil
}

// countOurs returns the number of gaffer's entries in the whole document.
func (t *jsonText) countOurs(entries []Entry) (n int) {
	t.findOurs(t.root, entries, func(jsonPart) { n++ })
	return n
}

// findOurs calls visit for every object member and every array item inside v that is an entry of
// gaffer.
func (t *jsonText) findOurs(v jsontree.Value, entries []Entry, visit func(jsonPart)) {
	for _, p := range parts(v) {
		inner, ours := advance(v, entries, p)
		if ours {
			visit(p)
		} else if len(inner) > 0 {
			t.findOurs(p.value, inner, visit)
		}
	}
}

// advance goes one level down in the document, from v to p, which is a member of the object v or an
// item of the array v. inner holds the entries whose paths continue inside p. The paths in inner
// are relative to p. ours reports whether p itself is an entry of gaffer.
func advance(v jsontree.Value, entries []Entry, p jsonPart) (inner []Entry, ours bool) {
	var value any
	is := func(e Entry) bool {
		if value == nil {
			value = jsontree.Interface(p.value)
		}
		return e.IsOurs(value)
	}
	for _, e := range entries {
		if e.Item && len(e.Path) == 0 {
			ours = ours || v.Kind() == jsontree.Array && is(e)
			continue
		}
		if len(e.Path) == 0 || e.Path[0] != "*" && (v.Kind() != jsontree.Object || e.Path[0] != p.name) {
			continue
		}
		e.Path = e.Path[1:]
		if len(e.Path) == 0 && !e.Item {
			ours = ours || is(e)
			continue
		}
		inner = append(inner, e)
	}
	return inner, ours
}

// decoded returns v in the types that jsontree.Interface returns, such as json.Number for numbers,
// so that v can be compared with a value of the file.
func decoded(v any) (any, error) {
	text, err := encoded(v)
	if err != nil {
		return nil, err
	}
	doc, err := jsontree.Parse(text)
	if err != nil {
		return nil, err
	}
	return jsontree.Interface(doc.Value()), nil
}

func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
