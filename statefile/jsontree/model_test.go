package jsontree_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gaffer/statefile/jsontree"
)

// model is a document as plain Go values. It defines what each edit should do, without the code of
// jsontree.
type model struct {
	kind   jsontree.Kind
	text   string // JSON text of a value that is no object or array
	keys   []string
	values []*model // values of the members or items
}

func (m *model) compact() string {
	var b strings.Builder
	m.write(&b, func() string { return "" })
	return b.String()
}

// write appends the JSON text of m to b. Wherever JSON allows white space, it inserts the result of
// space.
func (m *model) write(b *strings.Builder, space func() string) {
	brackets := map[jsontree.Kind]string{jsontree.Object: "{}", jsontree.Array: "[]"}[m.kind]
	if brackets == "" {
		b.WriteString(m.text)
		return
	}
	b.WriteString(brackets[:1] + space())
	for i, v := range m.values {
		if i > 0 {
			b.WriteString(space() + "," + space())
		}
		if m.kind == jsontree.Object {
			b.WriteString(m.keys[i] + space() + ":" + space())
		}
		v.write(b, space)
	}
	b.WriteString(space() + brackets[1:])
}

func (m *model) clone() *model {
	c := *m
	c.keys = slices.Clone(m.keys)
	c.values = nil
	for _, v := range m.values {
		c.values = append(c.values, v.clone())
	}
	return &c
}

// find returns the index of the last member called name, or -1 if there is none.
func (m *model) find(name string) int {
	for i := len(m.keys) - 1; i >= 0; i-- {
		var key string
		if err := json.Unmarshal([]byte(m.keys[i]), &key); err == nil && key == name {
			return i
		}
	}
	return -1
}

func (m *model) set(name string, v *model) {
	if i := m.find(name); i >= 0 {
		m.values[i] = v
		return
	}
	var key bytes.Buffer
	enc := json.NewEncoder(&key)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(name)
	m.keys = append(m.keys, strings.TrimSpace(key.String()))
	m.values = append(m.values, v)
}

func (m *model) remove(i int) {
	if m.kind == jsontree.Object {
		m.keys = slices.Delete(m.keys, i, i+1)
	}
	m.values = slices.Delete(m.values, i, i+1)
}

var (
	modelKeys = []string{
		`"a"`, `"b"`, `"\u0061"`, `"c\\d"`, `"\\u0061"`, `""`, `"q\"}"`, `"é"`, `"\u00e9"`, `"long name, with: [marks]"`,
	}
	modelNames   = []string{"a", "b", `c\d`, `\u0061`, "", `q"}`, "é", "new", "<new>", "n\new"}
	modelScalars = []string{
		"null", "true", "false", "0", "-0", "1.50", "1e999", "123456789012345678901234567890", `""`, `"x"`, `"\ud800"`,
		`"\u00e9 é"`, `"[{\"a\":1}]"`, `"\\"`, "\"\xff\"",
	}
	modelSpaces = []string{"", "", " ", "\n", "\n  ", "\r\n\t", "   "}
)

func drawModel(t *rapid.T, depth int) *model {
	kinds := []jsontree.Kind{jsontree.Number, jsontree.Object, jsontree.Array}
	if depth == 0 {
		kinds = kinds[:1]
	}
	m := &model{kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	if m.kind == jsontree.Number {
		return scalar(rapid.SampledFrom(modelScalars).Draw(t, "scalar"))
	}
	for range rapid.IntRange(0, 4).Draw(t, "parts") {
		if m.kind == jsontree.Object {
			m.keys = append(m.keys, rapid.SampledFrom(modelKeys).Draw(t, "key"))
		}
		m.values = append(m.values, drawModel(t, depth-1))
	}
	return m
}

func scalar(text string) *model {
	doc, _ := jsontree.Parse([]byte(text))
	return &model{kind: doc.Value().Kind(), text: text}
}

func (m *model) spaced(t *rapid.T) string {
	space := rapid.SampledFrom(modelSpaces)
	var b strings.Builder
	b.WriteString(space.Draw(t, "space"))
	m.write(&b, func() string { return space.Draw(t, "space") })
	b.WriteString(space.Draw(t, "space"))
	return b.String()
}

// moment is a saved state of the document and its model, for a rollback.
type moment struct {
	mark  jsontree.Mark
	bytes []byte
	model *model
}

func TestEditsEqualEditsOfPlainValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, 4)
		doc, err := jsontree.Parse([]byte(m.spaced(t)))
		if err != nil {
			t.Fatal(err)
		}
		e := editing{t: t, doc: doc, model: m}
		e.past = []moment{e.now()}
		for range rapid.IntRange(1, 15).Draw(t, "edits") {
			if rapid.IntRange(0, 9).Draw(t, "go back") == 0 {
				e.goBack()
			} else {
				e.edit()
			}
			e.compare()
		}
	})
}

// editing holds a document and its model. Both get the same edits.
type editing struct {
	t     *rapid.T
	doc   *jsontree.Doc
	model *model
	past  []moment
}

func (e *editing) now() moment {
	return moment{e.doc.Mark(), e.doc.Bytes(), e.model.clone()}
}

func (e *editing) goBack() {
	i := rapid.IntRange(0, len(e.past)-1).Draw(e.t, "moment")
	then := e.past[i]
	e.doc.Rollback(then.mark)
	if !bytes.Equal(e.doc.Bytes(), then.bytes) {
		e.t.Fatalf("rolled back to %q, should be %q", e.doc.Bytes(), then.bytes)
	}
	e.model = then.model.clone()
	e.past = e.past[:i+1]
}

func (e *editing) compare() {
	var got bytes.Buffer
	if err := json.Compact(&got, e.doc.Bytes()); err != nil {
		e.t.Fatalf("%q: %v", e.doc.Bytes(), err)
	}
	if want := e.model.compact(); got.String() != want {
		e.t.Fatalf("the document is\n%s\nshould be\n%s", got.String(), want)
	}
	if !jsontree.Valid(e.doc.Bytes()) {
		e.t.Fatalf("%q cannot be read any more", e.doc.Bytes())
	}
}

// edit makes one random edit and checks that all other bytes are unchanged.
func (e *editing) edit() {
	node, m := e.somewhere()
	before := e.now()
	touched := 0 // largest number of bytes of the old document that the edit may change
	value := drawModel(e.t, 2)
	name := rapid.SampledFrom(modelNames).Draw(e.t, "name")
	switch op := rapid.IntRange(0, 6).Draw(e.t, "op"); {
	case op == 0:
		touched = len(node.Value().Raw())
		node.Replace(e.argument(value))
		*m = *value
	case op == 1 && m.kind == jsontree.Array:
		touched = -1
		node.Append(e.argument(value))
		m.values = append(m.values, value)
	case op <= 2 && m.kind == jsontree.Object:
		touched = len(node.Get(name).Raw())
		if m.find(name) < 0 {
			touched = -1
		}
		node.Set(name, e.argument(value))
		m.set(name, value)
	case op == 3 && m.kind == jsontree.Object:
		touched = len(node.Value().Raw())
		was := m.find(name)
		if got := node.Delete(name); got != (was >= 0) {
			e.t.Fatalf("delete %q said %v", name, got)
		}
		for i := was; i >= 0; i = m.find(name) {
			m.remove(i)
		}
	case op == 4 && len(m.values) > 0:
		touched = len(node.Value().Raw())
		i := rapid.IntRange(0, len(m.values)-1).Draw(e.t, "index")
		node.Remove(i)
		m.remove(i)
	case op >= 5:
		touched = max(len(node.Get(name).Raw()), 1)
		if m.find(name) < 0 {
			touched = -1
		}
		e.container(node, m, name, op == 5)
	}
	if e.doc.Err() != nil {
		e.doc.Rollback(before.mark)
		e.model = before.model
		touched = 0
	}
	e.onlyTouched(before.bytes, touched)
	if rapid.Bool().Draw(e.t, "remember") {
		e.past = append(e.past, e.now())
	}
}

func (e *editing) container(node *jsontree.Node, m *model, name string, object bool) {
	kind, get := jsontree.Array, node.Array
	if object {
		kind, get = jsontree.Object, node.Object
	}
	get(name)
	i := m.find(name)
	fits := m.kind == jsontree.Object && (i < 0 || m.values[i].kind == jsontree.Null || m.values[i].kind == kind)
	if fits != (e.doc.Err() == nil) {
		e.t.Fatalf("%q in %s: %v", name, m.compact(), e.doc.Err())
	}
	if fits && (i < 0 || m.values[i].kind == jsontree.Null) {
		m.set(name, &model{kind: kind})
	}
}

// somewhere walks down to a random value. It returns the value's node and its model.
func (e *editing) somewhere() (*jsontree.Node, *model) {
	node, m := e.doc.Root(), e.model
	for rapid.Bool().Draw(e.t, "down") && len(m.values) > 0 {
		i := rapid.IntRange(0, len(m.values)-1).Draw(e.t, "part")
		node, m = child(node, i), m.values[i]
	}
	return node, m
}

// argument returns the value m in one of the forms that Set, Append and Replace accept.
func (e *editing) argument(m *model) any {
	text := m.spaced(e.t)
	if rapid.Bool().Draw(e.t, "raw message") {
		return json.RawMessage(text)
	}
	doc, err := jsontree.Parse([]byte(text))
	if err != nil {
		e.t.Fatal(err)
	}
	return doc.Value()
}

// onlyTouched checks that the edit changed at most maxBytes adjacent bytes of the old document. If
// maxBytes is -1, only white space may have changed.
func (e *editing) onlyTouched(before []byte, maxBytes int) {
	after := e.doc.Bytes()
	limit := min(len(before), len(after))
	head := 0
	for head < limit && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < limit-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	changed := before[head : len(before)-tail]
	if maxBytes < 0 {
		changed, maxBytes = bytes.TrimSpace(changed), 0
	}
	if len(changed) > maxBytes {
		e.t.Fatalf("%q became %q: %q should still be there", before, after, changed)
	}
}
