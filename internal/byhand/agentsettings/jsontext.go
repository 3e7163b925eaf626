package agentsettings

import (
	"bytes"
	"errors"
	"fmt"

	"gaffer/statefile/jsontree"
)

// jsonText is a parsed JSON file. plain is src with spaces in place of comments and trailing
// commas, so that offsets are the same in both.
type jsonText struct {
	src, plain  []byte
	root        jsontree.Value // zero Value if the file is empty or has only comments
	nonStandard string
}

func parseJSON(src []byte) (*jsonText, error) {
	t := &jsonText{src: src}
	t.plain, t.nonStandard = standardize(src)
	if len(bytes.Trim(bytes.TrimPrefix(t.plain, []byte(byteOrderMark)), " \t\r\n")) == 0 {
		return t, nil
	}
	doc, err := jsontree.Parse(t.plain)
	if syntax := (*jsontree.SyntaxError)(nil); errors.As(err, &syntax) {
		return nil, &TextError{Format: JSON, Line: syntax.Line, Column: syntax.Column, Problem: syntax.Problem}
	}
	if err != nil {
		return nil, err
	}
	t.root = doc.Value()
	if t.root.Kind() != jsontree.Object {
		return nil, t.shapeError(t.root, nil, jsontree.Object)
	}
	return t, nil
}

const byteOrderMark = "\xef\xbb\xbf"

// standardize replaces comments and trailing commas by spaces. loose says where the first of them
// is, such as "line 3: a comment". It is empty if there is none.
func standardize(src []byte) (plain []byte, loose string) {
	plain = bytes.Clone(src)
	first, what := -1, ""
	note := func(at int, kind string) {
		if first < 0 || at < first {
			first, what = at, kind
		}
	}
	for i := 0; i < len(plain); {
		switch {
		case plain[i] == '"':
			i = afterString(plain, i)
		case isComment(plain, i):
			end := afterComment(plain, i)
			note(i, "comment")
			blankOut(plain[i:end])
			i = end
		case opensComment(plain, i): // an unclosed comment extends to the end of the file
			i = len(plain)
		default:
			i++
		}
	}
	for i := 0; i < len(plain); {
		switch {
		case plain[i] == '"':
			i = afterString(plain, i)
			continue
		case plain[i] == ',' && isTrailingComma(plain, i):
			note(i, "comma before a closing bracket")
			plain[i] = ' '
		}
		i++
	}
	if first >= 0 {
		loose = fmt.Sprintf("line %d: a %s", lineOf(src, first), what)
	}
	return plain, loose
}

func blankOut(text []byte) {
	for i, b := range text {
		if b != '\n' && b != '\r' {
			text[i] = ' '
		}
	}
}

// afterString returns the index after the end of the string that starts at b[i]. A string without a
// closing quote ends with its line.
func afterString(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"' && b[i] != '\n'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(b))
}

func isComment(b []byte, i int) bool {
	return bytes.HasPrefix(b[i:], []byte("//")) || opensComment(b, i) && bytes.Contains(b[i+2:], []byte("*/"))
}

func opensComment(b []byte, i int) bool { return bytes.HasPrefix(b[i:], []byte("/*")) }

func afterComment(b []byte, i int) int {
	if b[i+1] == '*' {
		return i + 2 + bytes.Index(b[i+2:], []byte("*/")) + 2
	}
	if end := bytes.IndexAny(b[i:], "\r\n"); end >= 0 {
		return i + end
	}
	return len(b)
}

// isTrailingComma reports whether the comma at b[i] follows a value and precedes a
// closing bracket.
func isTrailingComma(b []byte, i int) bool {
	after := bytes.TrimLeft(b[i+1:], " \t\r\n")
	before := bytes.TrimRight(b[:i], " \t\r\n")
	return len(after) > 0 && (after[0] == '}' || after[0] == ']') &&
		len(before) > 0 && !bytes.ContainsAny(before[len(before)-1:], "{[,:")
}

func (t *jsonText) shapeError(v jsontree.Value, path []string, want jsontree.Kind) error {
	place, _ := v.Position()
	return &ShapeError{At: dotted(path), Line: lineOf(t.src, place.From), Found: v.Kind().String(), Want: want.String()}
}

// parts returns the members of an object, or the items of an array, in order.
func parts(v jsontree.Value) (list []jsonPart) {
	for name, part := range v.Members() {
		place, _ := part.Position()
		list = append(list, jsonPart{place, name, part})
	}
	for _, part := range v.Items() {
		place, _ := part.Position()
		list = append(list, jsonPart{place, "", part})
	}
	return list
}

type jsonPart struct {
	jsontree.Position
	name  string
	value jsontree.Value
}

// comma returns the index of the comma after a member or item, or -1 if there is none. end is the
// offset at which the member or item ends. There may be comments between end and the comma. A
// trailing comma counts too.
func (t *jsonText) comma(end int) int {
	for i := end; i < len(t.src); i++ {
		switch {
		case t.src[i] == ',':
			return i
		case isComment(t.src, i):
			i = afterComment(t.src, i) - 1
		case !isSpace(t.src[i]):
			return -1
		}
	}
	return -1
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }
