package jsontree_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"gaffer/statefile/jsontree"
)

func addSeeds(f *testing.F, add func(text string)) {
	f.Helper()
	for _, text := range oddLayouts {
		add(text)
	}
	for _, text := range []string{"", "{", "[1,]", "\"\xff", `{"a":{"b":[1,{"c":"\u00e9"}]}}`, strings.Repeat("[", 1001)} {
		add(text)
	}
}

func FuzzParse(f *testing.F) {
	addSeeds(f, func(text string) { f.Add([]byte(text)) })
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := jsontree.Parse(data)
		var syntax *jsontree.SyntaxError
		switch {
		case err != nil && !errors.As(err, &syntax):
			t.Fatalf("%v is not a syntax error", err)
		case err != nil && strings.HasPrefix(syntax.Problem, "nested deeper"):
			return
		case (err == nil) != json.Valid(withoutMark(data)):
			t.Fatalf("we say %v, encoding/json says valid is %v", err, err != nil)
		case err != nil:
			if syntax.Offset > len(data) || syntax.Line < 1 || syntax.Column < 1 {
				t.Fatalf("%+v", syntax)
			}
			return
		}
		if !bytes.Equal(doc.Bytes(), data) {
			t.Fatalf("written back as %q", doc.Bytes())
		}
		if got, want := jsontree.Interface(doc.Value()), decoded(t, string(data)); !reflect.DeepEqual(got, want) {
			t.Fatalf("%#v, encoding/json has %#v", got, want)
		}
		var s sample
		jsontree.Decode(doc.Value(), &s)
		jsontree.Unknown(doc.Value(), s)
		walk(t, doc.Value(), doc.Root())
		if !bytes.Equal(doc.Bytes(), data) {
			t.Fatalf("changed by reading: %q", doc.Bytes())
		}
		formatted, err := jsontree.Format(data)
		if err != nil || !reflect.DeepEqual(decoded(t, string(formatted)), jsontree.Interface(doc.Value())) {
			t.Fatalf("formatted as %q (%v)", formatted, err)
		}
	})
}

func FuzzEdit(f *testing.F) {
	addSeeds(f, func(text string) {
		for _, script := range []string{"", "abcdefghijklmnop", "\x00\x01\x02\x03\x04\x05\x06\x07\x10\x11\x12\x13\x20\x21\x22"} {
			f.Add([]byte(text), []byte(script))
		}
	})
	f.Fuzz(func(t *testing.T, data, script []byte) {
		doc, err := jsontree.Parse(data)
		if err != nil {
			return
		}
		start := doc.Mark()
		s := &fuzzScript{left: script}
		for range min(len(script), 40) {
			mark, before := doc.Mark(), doc.Bytes()
			s.edit(s.pick(doc.Root()))
			after := doc.Bytes()
			if !jsontree.Valid(after) || !json.Valid(withoutMark(after)) {
				t.Fatalf("%q became %q", before, after)
			}
			if doc.Err() != nil || s.next()%4 == 0 {
				doc.Rollback(mark)
				if !bytes.Equal(doc.Bytes(), before) {
					t.Fatalf("%q rolled back to %q", before, doc.Bytes())
				}
			}
		}
		doc.Rollback(start)
		if !bytes.Equal(doc.Bytes(), data) {
			t.Fatalf("rolled back to %q", doc.Bytes())
		}
	})
}

// fuzzScript reads the fuzzer's bytes as random choices.
type fuzzScript struct{ left []byte }

func (s *fuzzScript) next() int {
	if len(s.left) == 0 {
		return 0
	}
	b := s.left[0]
	s.left = s.left[1:]
	return int(b)
}

// pick goes down from n to a node that the script chooses.
func (s *fuzzScript) pick(n *jsontree.Node) *jsontree.Node {
	for range s.next() % 5 {
		if n.Len() == 0 {
			break
		}
		at := s.next() % n.Len()
		n = child(n, at)
	}
	return n
}

var (
	fuzzNames  = []string{"a", "b", "", "é", `\u0061`, "q\"", "<", "\x00"}
	fuzzValues = []any{
		nil, 1, "x\n\"", true, -1.5,
		[]int{},
		[]int{1, 2},
		map[string]any{"a": []any{map[string]any{}}},
		json.RawMessage(strings.Repeat("[", 250) + strings.Repeat("]", 250)),
		jsontree.Value{},
		func() {},
	}
)

func (s *fuzzScript) edit(n *jsontree.Node) {
	name, v := fuzzNames[s.next()%len(fuzzNames)], fuzzValues[s.next()%len(fuzzValues)]
	switch s.next() % 8 {
	case 0:
		n.Set(name, v)
	case 1:
		n.Append(v)
	case 2:
		n.Replace(v)
	case 3:
		n.Delete(name)
	case 4:
		if n.Len() > 0 {
			n.Remove(s.next() % n.Len())
		}
	case 5:
		n.Object(name).Set(name, v)
	case 6:
		n.Array(name).Append(v)
	case 7:
		if v := n.Value(); len(v.Raw()) < 1000 { // each edit of this kind doubles the size
			n.Set(name, v)
		}
	}
}

func child(n *jsontree.Node, at int) *jsontree.Node {
	for i, item := range n.Items() {
		if i == at {
			return item
		}
	}
	for _, member := range n.Members() {
		if at == 0 {
			return member
		}
		at--
	}
	return nil
}

// walk reads a document as values and as nodes, and checks that both agree.
func walk(t testing.TB, v jsontree.Value, n *jsontree.Node) {
	v.Int()
	v.Float()
	v.Bool()
	if v.Kind() != n.Kind() || v.Len() != n.Len() || v.String() != n.Value().String() {
		t.Fatalf("%s is also %s", v, n.Value())
	}
	var parts []*jsontree.Node
	for _, m := range n.Members() {
		parts = append(parts, m)
	}
	for _, item := range n.Items() {
		parts = append(parts, item)
	}
	i := 0
	for name, m := range v.Members() {
		walk(t, m, parts[i])
		i++
		if v.Get(name).String() != n.Get(name).String() {
			t.Fatalf("%q is found as %s and as %s", name, v.Get(name), n.Get(name))
		}
	}
	for i, item := range v.Items() {
		walk(t, item, parts[i])
	}
}

func withoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) }

// decoded returns the value that encoding/json decodes from text.
func decoded(t testing.TB, text string) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(withoutMark([]byte(text))))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}
