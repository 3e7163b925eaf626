package jsontree_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"gaffer/statefile/jsontree"
)

type pair struct {
	A int    `json:"a"`
	B string `json:"b"`
}

func TestAnEditChangesOnlyWhatItShould(t *testing.T) {
	for _, c := range []struct {
		name, before string
		edit         func(root *jsontree.Node)
		after        string
	}{
		{
			"set an existing member",
			"{\n  \"a\" : 1.0 ,\n  \"b\":2\n}",
			func(r *jsontree.Node) { r.Set("a", 7) },
			"{\n  \"a\" : 7 ,\n  \"b\":2\n}",
		}, {
			"set the last of two alike",
			`{"a": 1, "b": 2, "a": 3}`,
			func(r *jsontree.Node) { r.Set("a", 4) },
			`{"a": 1, "b": 2, "a": 4}`,
		}, {
			"set a member whose name is spelt with escapes",
			`{"\u0061": 1}`,
			func(r *jsontree.Node) { r.Set("a", 2) },
			`{"\u0061": 2}`,
		}, {
			"set a name that looks like another's spelling",
			`{"\u0061": 1, "b\\c": 2}`,
			func(r *jsontree.Node) { r.Set(`\u0061`, 3); r.Set(`b\\c`, 4) },
			`{"\u0061": 1, "b\\c": 2, "\\u0061": 3, "b\\\\c": 4}`,
		}, {
			"add a member on a line of its own",
			"{\n  \"a\": 1\n}\n",
			func(r *jsontree.Node) { r.Set("b", true) },
			"{\n  \"a\": 1,\n  \"b\": true\n}\n",
		}, {
			"add a member to a compact document",
			`{"a":1}`,
			func(r *jsontree.Node) { r.Set("b", pair{1, "x"}) },
			`{"a":1,"b":{"a":1,"b":"x"}}`,
		}, {
			"add a member on the same line",
			`{ "a": 1 }`,
			func(r *jsontree.Node) { r.Set("b", []int{1, 2}) },
			`{ "a": 1, "b": [1, 2] }`,
		}, {
			"add a member like its neighbour's colon",
			`{"a" :1,"b" :2}`,
			func(r *jsontree.Node) { r.Set("c", 3) },
			`{"a" :1,"b" :2,"c" :3}`,
		}, {
			"add to an empty document",
			"{}\n",
			func(r *jsontree.Node) { r.Set("a", pair{1, "x"}) },
			"{\n  \"a\": {\n    \"a\": 1,\n    \"b\": \"x\"\n  }\n}\n",
		}, {
			"add with tabs",
			"{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}\n",
			func(r *jsontree.Node) { r.Child("a").Set("c", []string{"d"}) },
			"{\n\t\"a\": {\n\t\t\"b\": 1,\n\t\t\"c\": [\n\t\t\t\"d\"\n\t\t]\n\t}\n}\n",
		}, {
			"add with CRLF",
			"{\r\n    \"a\": 1\r\n}\r\n",
			func(r *jsontree.Node) { r.Set("b", pair{1, "x"}) },
			"{\r\n    \"a\": 1,\r\n    \"b\": {\r\n        \"a\": 1,\r\n        \"b\": \"x\"\r\n    }\r\n}\r\n",
		}, {
			"keep the byte order mark",
			"\xef\xbb\xbf{\"a\": 1}\r\n",
			func(r *jsontree.Node) { r.Set("a", 2) },
			"\xef\xbb\xbf{\"a\": 2}\r\n",
		}, {
			"change one member deep inside",
			"{\"x\":1e999,\n \"list\": [ {\"id\" : 1,\"s\":\"a\"} , {\"id\":2 , \"s\" :\"b\" } ],\"y\":-0}",
			func(r *jsontree.Node) {
				for _, item := range r.Child("list").Items() {
					if id, _ := item.Get("id").Int(); id == 2 {
						item.Set("s", "c")
					}
				}
			},
			"{\"x\":1e999,\n \"list\": [ {\"id\" : 1,\"s\":\"a\"} , {\"id\":2 , \"s\" :\"c\" } ],\"y\":-0}",
		}, {
			"append to an empty array",
			"{\n  \"a\": []\n}",
			func(r *jsontree.Node) { r.Child("a").Append(1) },
			"{\n  \"a\": [\n    1\n  ]\n}",
		}, {
			"append to an empty array on one line",
			`{"a": [], "b": 1}`,
			func(r *jsontree.Node) { r.Child("a").Append(1); r.Child("a").Append("x") },
			`{"a": [1, "x"], "b": 1}`,
		}, {
			"append to an array on one line",
			"{\n  \"a\": [1, 2]\n}",
			func(r *jsontree.Node) { r.Child("a").Append([]int{3}) },
			"{\n  \"a\": [1, 2, [3]]\n}",
		}, {
			"append to an array of one on one line",
			"{\n  \"a\": [1]\n}",
			func(r *jsontree.Node) { r.Child("a").Append(2) },
			"{\n  \"a\": [1, 2]\n}",
		}, {
			"append to an array over several lines",
			"{\n  \"a\": [\n    {\n      \"b\": 1\n    }\n  ]\n}",
			func(r *jsontree.Node) { r.Child("a").Append(pair{2, "x"}) },
			"{\n  \"a\": [\n    {\n      \"b\": 1\n    },\n    {\n      \"a\": 2,\n      \"b\": \"x\"\n    }\n  ]\n}",
		}, {
			"append to an array of objects that stand on a line each",
			"{\n  \"a\": [\n    {\"b\": 1},\n    {\"b\": 2}\n  ]\n}",
			func(r *jsontree.Node) { r.Child("a").Append(pair{3, "x"}) },
			"{\n  \"a\": [\n    {\"b\": 1},\n    {\"b\": 2},\n    {\"a\": 3, \"b\": \"x\"}\n  ]\n}",
		}, {
			"append to a root that is an array",
			"[\n  1\n]\n",
			func(r *jsontree.Node) { r.Append(2) },
			"[\n  1,\n  2\n]\n",
		}, {
			"delete the first",
			"{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}",
			func(r *jsontree.Node) { r.Delete("a") },
			"{\n  \"b\": 2,\n  \"c\": 3\n}",
		}, {
			"delete one in the middle",
			"{ \"a\": 1, \"b\": 2, \"c\": 3 }",
			func(r *jsontree.Node) { r.Delete("b") },
			"{ \"a\": 1, \"c\": 3 }",
		}, {
			"delete the last",
			"{\n  \"a\": 1,\n  \"b\": 2\n}",
			func(r *jsontree.Node) { r.Delete("b") },
			"{\n  \"a\": 1\n}",
		}, {
			"delete the only one",
			"{\n  \"x\": {\n    \"a\": 1\n  }\n}\n",
			func(r *jsontree.Node) { r.Child("x").Delete("a") },
			"{\n  \"x\": {}\n}\n",
		}, {
			"delete a name that stands twice",
			`{"a": 1, "b": 2, "\u0061": 3}`,
			func(r *jsontree.Node) { r.Delete("a") },
			`{"b": 2}`,
		}, {
			"delete what is not there",
			`{"a" :1}`,
			func(r *jsontree.Node) { r.Delete("b") },
			`{"a" :1}`,
		}, {
			"remove items",
			"[0, 1,\n2,  3]",
			func(r *jsontree.Node) { r.Remove(1); r.Remove(0) },
			"[2,  3]",
		}, {
			"remove all and append",
			"{\n  \"a\": [\n    1,\n    2\n  ]\n}",
			func(r *jsontree.Node) {
				r.Child("a").Remove(1)
				r.Child("a").Remove(0)
				r.Child("a").Append(3)
			},
			"{\n  \"a\": [\n    3\n  ]\n}",
		}, {
			"replace a scalar by an object",
			"{\n  \"a\": null,\n  \"b\": 2\n}",
			func(r *jsontree.Node) { r.Set("a", pair{1, "x"}) },
			"{\n  \"a\": {\n    \"a\": 1,\n    \"b\": \"x\"\n  },\n  \"b\": 2\n}",
		}, {
			"replace a scalar by an object on one line",
			`{"a": null, "b": 2}`,
			func(r *jsontree.Node) { r.Set("a", pair{1, "x"}) },
			`{"a": {"a": 1, "b": "x"}, "b": 2}`,
		}, {
			"replace an object by a scalar",
			"{\n  \"a\": {\n    \"x\": 1\n  },\n  \"b\": 2\n}",
			func(r *jsontree.Node) { r.Child("a").Replace(nil) },
			"{\n  \"a\": null,\n  \"b\": 2\n}",
		}, {
			"replace an array on one line by another",
			"{\n  \"a\": [1, 2]\n}",
			func(r *jsontree.Node) { r.Set("a", []string{"x", "y", "z"}) },
			"{\n  \"a\": [\"x\", \"y\", \"z\"]\n}",
		}, {
			"replace the root",
			" [1]\n",
			func(r *jsontree.Node) { r.Replace(map[string]any{}); r.Set("a", 1) },
			" {\"a\": 1}\n",
		}, {
			"make an object for a missing member",
			"{\n  \"a\": 1\n}",
			func(r *jsontree.Node) { r.Object("o").Object("p").Set("q", 1) },
			"{\n  \"a\": 1,\n  \"o\": {\n    \"p\": {\n      \"q\": 1\n    }\n  }\n}",
		}, {
			"make an array for null",
			"{\n  \"a\": null\n}",
			func(r *jsontree.Node) { r.Array("a").Append(1) },
			"{\n  \"a\": [\n    1\n  ]\n}",
		}, {
			"take the containers that are there",
			`{"o": {"x": 1}, "a": [1]}`,
			func(r *jsontree.Node) { r.Object("o").Set("y", 2); r.Array("a").Append(2) },
			`{"o": {"x": 1, "y": 2}, "a": [1, 2]}`,
		}, {
			"names and strings that need escapes",
			`{}`,
			func(r *jsontree.Node) {
				r.Replace([]any{})
				r.Append("<a href=\"x\">&</a>")
				r.Append(map[string]string{"tab\t\"\\": "é\x00"})
			},
			"[\n  \"<a href=\\\"x\\\">&</a>\",\n  {\n    \"tab\\t\\\"\\\\\": \"é\\u0000\"\n  }\n]",
		}, {
			"set a name that needs escapes",
			`{"a":1}`,
			func(r *jsontree.Node) { r.Set("q\"\n", 1); r.Set("q\"\n", 2); r.Set("", 3) },
			`{"a":1,"q\"\n":2,"":3}`,
		}, {
			"a string that is not UTF-8",
			`{"a":1}`,
			func(r *jsontree.Node) { r.Set("a", "x\xff") },
			`{"a":"x\ufffd"}`,
		}, {
			"a value of another document keeps its spelling",
			`{"a": 1}`,
			func(r *jsontree.Node) {
				other, _ := jsontree.Parse([]byte("{\n \"v\":\t[1.50,1e999 ,\"\\u0061\", { } ]}"))
				r.Set("b", other.Value().Get("v"))
			},
			`{"a": 1, "b": [1.50, 1e999, "\u0061", {}]}`,
		}, {
			"a missing value is null",
			`{"a": 1}`,
			func(r *jsontree.Node) { r.Set("a", r.Get("nothing")) },
			`{"a": null}`,
		}, {
			"numbers keep their digits",
			`{"a":0}`,
			func(r *jsontree.Node) {
				r.Set("a", json.Number("123456789012345678901234567890"))
				r.Set("b", int64(math.MinInt64))
				r.Set("c", json.RawMessage(` [ 1.0 ] `))
			},
			`{"a":123456789012345678901234567890,"b":-9223372036854775808,"c":[1.0]}`,
		}, {
			"an edit of an edit",
			`{"a": {"b": 1}}`,
			func(r *jsontree.Node) {
				r.Set("a", map[string]int{"c": 2})
				r.Child("a").Set("d", 3)
				r.Child("a").Delete("c")
			},
			`{"a": {"d": 3}}`,
		}, {
			"an edit of what was replaced goes nowhere",
			`{"a": {"b": {"c": 1}}}`,
			func(r *jsontree.Node) {
				old := r.Child("a").Child("b")
				r.Set("a", 1)
				old.Set("c", 2)
			},
			`{"a": 1}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc := parse(t, c.before)
			start := doc.Mark()
			c.edit(doc.Root())
			if err := doc.Err(); err != nil {
				t.Fatal(err)
			}
			same(t, doc, c.after)
			doc.Rollback(start)
			same(t, doc, c.before)
		})
	}
}

func TestSettingTheSameValueKeepsTheBytes(t *testing.T) {
	const text = "{\n  \"s\" :\"a\", \"n\":1,\n  \"o\": {\"a\": 1, \"b\": \"x\"}, \"l\": [ ],\"z\":null }"
	doc := parse(t, text)
	root := doc.Root()
	root.Set("s", "a")
	root.Set("n", 1)
	root.Set("o", pair{1, "x"})
	root.Set("l", root.Get("l"))
	root.Set("z", nil)
	root.Object("o").Set("b", "x")
	root.Array("l")
	same(t, doc, text)
	if doc.Mark() != parse(t, text).Mark() {
		t.Error("an edit that changes nothing counts as one")
	}
}

func TestNodesReturnTheirCurrentValue(t *testing.T) {
	doc := parse(t, `{"a": [1, {"b": 2}], "c": null}`)
	root := doc.Root()
	before := root.Value()
	root.Child("a").Append("x")
	root.Child("a").Remove(0)
	root.Set("d", false)
	if got := root.Get("a").String(); got != `[{"b": 2}, "x"]` {
		t.Errorf("a is %s", got)
	}
	if got := root.Child("a").Len(); got != 2 {
		t.Errorf("a has %d items", got)
	}
	if got := root.Len(); got != 3 {
		t.Errorf("the root has %d members", got)
	}
	if got := before.Get("a").Len(); got != 2 {
		t.Errorf("the earlier view has changed: %s", before)
	}
	if root.Get("e").Kind() != jsontree.Missing || root.Child("e") != nil || root.Child("c").Child("x") != nil {
		t.Error("found what is not there")
	}
	if n := root.Child("d"); n.Len() != 0 || n.Get("x").Kind() != jsontree.Missing || n.Delete("x") {
		t.Error("a scalar has parts")
	}
}

func TestErrReturnsTheFirstFailedEdit(t *testing.T) {
	tooDeep := strings.Repeat("[", jsontree.MaxDepth) + strings.Repeat("]", jsontree.MaxDepth)
	for _, c := range []struct {
		name string
		edit func(root *jsontree.Node)
		want string
	}{
		{"set on an array", func(r *jsontree.Node) { r.Child("list").Set("x", 1) }, `set "x" on an array`},
		{"set on a string", func(r *jsontree.Node) { r.Child("text").Set("x", 1) }, `set "x" on a string`},
		{"append to an object", func(r *jsontree.Node) { r.Append(1) }, "append to an object"},
		{"object where an array is", func(r *jsontree.Node) { r.Object("list").Set("x", 1) }, "list is an array where an object should be"},
		{"array where a string is", func(r *jsontree.Node) { r.Array("text").Append(1) }, "text is a string where an array should be"},
		{"member of an array", func(r *jsontree.Node) { r.Child("list").Object("x").Set("y", 1) }, `set "x" on an array`},
		{"not a number", func(r *jsontree.Node) { r.Set("x", math.NaN()) }, `set "x": json: unsupported value: NaN`},
		{"a function", func(r *jsontree.Node) { r.Child("list").Append(func() {}) }, "append: json: unsupported type: func()"},
		{"a channel", func(r *jsontree.Node) { r.Replace(make(chan int)) }, "replace: json: unsupported type: chan int"},
		{"broken text", func(r *jsontree.Node) { r.Set("x", json.RawMessage("{")) }, `set "x": json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input`},
		{"too deep to set", func(r *jsontree.Node) { r.Set("x", json.RawMessage(tooDeep)) }, "nested deeper than 1000 levels"},
		{"too deep to append", func(r *jsontree.Node) { r.Child("list").Append(json.RawMessage(tooDeep[1 : len(tooDeep)-1])) }, "nested deeper than 1000 levels"},
		{"too deep to replace", func(r *jsontree.Node) { r.Child("text").Replace(json.RawMessage(tooDeep)) }, "nested deeper than 1000 levels"},
	} {
		t.Run(c.name, func(t *testing.T) {
			const before = `{"list": [1], "text": "x"}`
			doc := parse(t, before)
			c.edit(doc.Root())
			doc.Root().Child("list").Set("a later one", 1)
			if err := doc.Err(); err == nil || err.Error() != c.want {
				t.Errorf("the error is %v, should be %s", err, c.want)
			}
			same(t, doc, before)
		})
	}
}

func TestAnEditMayNestAsDeepAsADocument(t *testing.T) {
	deepest := strings.Repeat("[", jsontree.MaxDepth) + strings.Repeat("]", jsontree.MaxDepth)
	doc := parse(t, `{"a": 1}`)
	doc.Root().Set("a", json.RawMessage(deepest[1:len(deepest)-1]))
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	if !jsontree.Valid(doc.Bytes()) {
		t.Error("the document cannot be read any more")
	}
}
