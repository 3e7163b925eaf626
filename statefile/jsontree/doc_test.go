package jsontree_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile/jsontree"
)

// oddLayouts are valid JSON documents whose formatting no JSON library would produce.
var oddLayouts = map[string]string{
	"compact":                       `{"a":1,"b":[1,2,{"c":null}]}`,
	"two spaces":                    "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": []\n  }\n}\n",
	"tabs":                          "{\n\t\"a\": [\n\t\t1\n\t]\n}\n",
	"CRLF":                          "{\r\n  \"a\": 1,\r\n  \"b\": [\r\n    2\r\n  ]\r\n}\r\n",
	"byte order mark":               "\xef\xbb\xbf{\"a\": 1}\n",
	"no newline at the end":         "{\n  \"a\": 1\n}",
	"many newlines around":          "\n\n \t{\"a\":1}\r\n\n\n",
	"inline objects on lines":       "{\n  \"agents\": [\n    {\"id\": 1, \"x\": []},\n    {\"id\": 2}\n  ]\n}\n",
	"comma first":                   "{ \"a\": 1\n, \"b\": 2\n, \"c\": 3\n}\n",
	"space before the colon":        `{"a" : 1 , "b"	:	2}`,
	"value on the next line":        "{\"a\":\n      1,\n\"b\"\n:\n2}",
	"aligned":                       "{\n  \"a\":    1,\n  \"long\": 2\n}\n",
	"empty containers with space":   "{ \"a\": [ ], \"b\": {\n}, \"c\": [\t]}",
	"duplicate names":               `{"a": 1, "a": 2, "b": 3, "a": {"a": 4, "a": 5}}`,
	"empty name":                    `{"": 1, "": {"": []}}`,
	"number too large for a float":  `[1e999, -1E+999, 1e-999]`,
	"integer too large for 64 bits": `{"n": 123456789012345678901234567890}`,
	"minus zero":                    `[-0, -0.0, 0e0, -0E-0]`,
	"number spellings":              `[1.0, 1.50, 1E5, 1e+05, 0.1e-7]`,
	"escapes":                       `{"\u0061\/\b\f\n\r\t\"\\": "\u00e9\u20AC\uD83D\ude00"}`,
	"lone surrogates":               `["\ud800", "\udc00x", "\ud800\ud800"]`,
	"not UTF-8 in a string":         "{\"\xff\": \"a\xc3\", \"b\": \"\xed\xa0\x80\"}",
	"NUL as an escape":              `"\u0000"`,
	"DEL and separators":            "[\"\x7f\u2028\u2029\ufeff\"]",
	"a scalar":                      " 12 ",
	"null":                          "null\n",
	"an empty array":                "[]",
	"strings of eight bytes":        `["1234567","12345678","123456\\","\"","1234567\"89"]`,
}

func TestEveryDocumentIsWrittenBackByteForByte(t *testing.T) {
	for name, text := range oddLayouts {
		t.Run(name, func(t *testing.T) {
			doc := parse(t, text)
			same(t, doc, text)
			openAll(doc.Root())
			same(t, doc, text)
		})
	}
}

// After an edit and its rollback, the objects and arrays around the edit stay split into their
// members and items. So the text of the document is assembled from them, and must be the same.
func TestSplittingAndJoiningADocumentKeepsItsBytes(t *testing.T) {
	for name, text := range oddLayouts {
		t.Run(name, func(t *testing.T) {
			doc := parse(t, text)
			start := doc.Mark()
			changeAll(doc.Root())
			doc.Rollback(start)
			same(t, doc, text)
		})
	}
}

func TestRollbackGoesBackToTheMark(t *testing.T) {
	doc := parse(t, `{"a": 1}`)
	start := doc.Mark()
	doc.Root().Set("b", 2)
	later := doc.Mark()
	doc.Root().Set("a", []int{1, 2})
	doc.Root().Child("a").Append(3)
	doc.Root().Delete("b")
	doc.Rollback(later)
	same(t, doc, `{"a": 1, "b": 2}`)
	doc.Rollback(start)
	same(t, doc, `{"a": 1}`)
	doc.Root().Set("c", 3)
	same(t, doc, `{"a": 1, "c": 3}`)
}

func TestRollbackClearsTheError(t *testing.T) {
	doc := parse(t, `{"a": 1}`)
	mark := doc.Mark()
	doc.Root().Child("a").Append(1)
	if doc.Err() == nil {
		t.Fatal("an item was appended to a number")
	}
	doc.Rollback(mark)
	if err := doc.Err(); err != nil {
		t.Error(err)
	}
}

func TestFormatIndentsByTwoSpaces(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,"b":[1,{"c":[ ]}],"d":{ }}`: "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    {\n      \"c\": []\n    }\n  ],\n  \"d\": {}\n}\n",
		" [ ]\n\n":                          "[]\n",
		"\t-0 ":                             "-0\n",
		`{"a":"x , : [ { \" y","a":1e999}`:  "{\n  \"a\": \"x , : [ { \\\" y\",\n  \"a\": 1e999\n}\n",
		"\xef\xbb\xbf{}":                    "{}\n",
	} {
		got, err := jsontree.Format([]byte(text))
		if err != nil || string(got) != want {
			t.Errorf("%q becomes %q (%v), should be %q", text, got, err, want)
		}
	}
	if _, err := jsontree.Format([]byte("{")); err == nil {
		t.Error("half a document was formatted")
	}
}

// A file of a few megabytes can nest a thousand levels deep. Reading all of it must
// still be fast.
func TestALargeAndDeepDocumentIsHandledInOnePass(t *testing.T) {
	const depth = jsontree.MaxDepth - 1
	text := strings.Repeat("[", depth) + strings.Repeat(" ", 4<<20) + strings.Repeat("]", depth)
	doc := parse(t, text)
	jsontree.Interface(doc.Value())
	target := parse(t, `{}`)
	target.Root().Set("v", doc.Value())
	if got := len(target.Bytes()); got > 4*depth*depth {
		t.Errorf("laid out as %d bytes", got)
	}
}

func parse(t testing.TB, text string) *jsontree.Doc {
	t.Helper()
	doc, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return doc
}

func same(t testing.TB, doc *jsontree.Doc, want string) {
	t.Helper()
	if diff := cmp.Diff(want, string(doc.Bytes())); diff != "" {
		t.Errorf("the document is not as it should be (-want +got):\n%s", diff)
	}
}

func openAll(n *jsontree.Node) {
	for _, item := range n.Items() {
		openAll(item)
	}
	for _, member := range n.Members() {
		openAll(member)
	}
}

func changeAll(n *jsontree.Node) {
	for _, item := range n.Items() {
		changeAll(item)
	}
	for _, member := range n.Members() {
		changeAll(member)
	}
	switch n.Kind() {
	case jsontree.Object:
		n.Set("something new", []int{1})
	case jsontree.Array:
		n.Append(map[string]int{"something": 1})
		n.Remove(0)
	default:
		n.Replace([]any{"something"})
	}
}

func TestTheBytesOfAnEditedDocumentAreBuiltOnce(t *testing.T) {
	d, err := jsontree.Parse([]byte(`{"a": [1, 2, {"b": null}], "c": {}, "d": []}`))
	if err != nil {
		t.Fatal(err)
	}
	root := d.Root()
	root.Set("new", map[string]any{"x": []int{1, 2}})
	root.Child("a").Append("three")
	root.Child("c").Set("first", 1)
	root.Child("d").Append(1)
	root.Child("a").Remove(0)
	if allocs := testing.AllocsPerRun(100, func() { _ = d.Bytes() }); allocs != 1 {
		t.Errorf("%v allocations for %s", allocs, d.Bytes())
	}
}
