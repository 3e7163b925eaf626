package jsontree

import (
	"encoding/json"

	"gaffer/statefile/jsonview"
)

// Reading is implemented by package jsonview.
type (
	// Value is a view of one value in a checked document.
	Value = jsonview.Value
	// Kind is the kind of a JSON value.
	Kind = jsonview.Kind
	// Place is the position of a value in the parsed bytes.
	Place = jsonview.Place
	// SyntaxError says where and why bytes are not JSON.
	SyntaxError = jsonview.SyntaxError
)

// The kinds of values.
const (
	Missing = jsonview.Missing
	Null    = jsonview.Null
	Bool    = jsonview.Bool
	Number  = jsonview.Number
	String  = jsonview.String
	Array   = jsonview.Array
	Object  = jsonview.Object
)

// MaxDepth is the maximum nesting depth of a document.
const MaxDepth = jsonview.MaxDepth

// Valid reports whether data is one JSON value within this package's limits.
func Valid(data []byte) bool { return jsonview.Valid(data) }

// Interface decodes v as encoding/json would, with numbers as json.Number.
func Interface(v Value) any {
	if v.Absent() {
		return nil
	}
	decoded, _ := interfaceAt(v.Raw(), 0)
	return decoded
}

// interfaceAt decodes the value at b[i] and returns the index after it. It reads each
// byte once, because a document may be both large and deep.
func interfaceAt(b []byte, i int) (any, int) {
	switch b[i] {
	case '{':
		members := map[string]any{}
		for i = jsonview.SkipSpace(b, i+1); b[i] != '}'; {
			colon := jsonview.SkipValue(b, i)
			name := jsonview.Unquote(b[i:colon])
			members[name], i = interfaceAt(b, jsonview.SkipSpace(b, jsonview.SkipSpace(b, colon)+1))
			i = skipComma(b, i)
		}
		return members, i + 1
	case '[':
		items := []any{}
		for i = jsonview.SkipSpace(b, i+1); b[i] != ']'; {
			var item any
			item, i = interfaceAt(b, i)
			items, i = append(items, item), skipComma(b, i)
		}
		return items, i + 1
	}
	end := jsonview.SkipValue(b, i)
	return scalar(jsonview.Made(b[i:end])), end
}

// skipComma returns the index of the next part or of the closing bracket.
func skipComma(b []byte, i int) int {
	if i = jsonview.SkipSpace(b, i); b[i] == ',' {
		return jsonview.SkipSpace(b, i+1)
	}
	return i
}

func scalar(v Value) any {
	switch v.Kind() {
	case String:
		return v.Text()
	case Number:
		return json.Number(v.Raw())
	case Bool:
		truth, _ := v.Bool()
		return truth
	}
	return nil
}
