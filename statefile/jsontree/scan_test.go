package jsontree_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gaffer/statefile/jsontree"
)

func TestASyntaxErrorSaysWhereAndWhy(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "line 1, column 1: the document ends where a value should be"},
		{" \n ", "line 2, column 2: the document ends where a value should be"},
		{"\xef\xbb\xbf", "line 1, column 4: the document ends where a value should be"},
		{"\xef\xbb\xbf\xef\xbb\xbf1", `line 1, column 4: unexpected '\ufeff' where a value should be`},
		{"{", "line 1, column 2: the document ends where a member's name should be"},
		{`{"a"`, "line 1, column 5: the document ends where ':' should be"},
		{`{"a":`, "line 1, column 6: the document ends where a value should be"},
		{`{"a": 1`, "line 1, column 8: the document ends where ',' or '}' should be"},
		{`[1, 2`, "line 1, column 6: the document ends where ',' or ']' should be"},
		{`{"a": 1,}`, "line 1, column 9: unexpected '}' where a member's name should be"},
		{"[\n  1,\n]", "line 3, column 1: unexpected ']' where a value should be"},
		{"[1 2]", "line 1, column 4: unexpected '2' where ',' or ']' should be"},
		{"{\n  \"a\": 1\n  \"b\": 2\n}", `line 3, column 3: unexpected '"' where ',' or '}' should be`},
		{"[1,\r\n2\r\n}", "line 3, column 1: unexpected '}' where ',' or ']' should be"},
		{`{"a" 1}`, "line 1, column 6: unexpected '1' where ':' should be"},
		{`{a: 1}`, "line 1, column 2: unexpected 'a' where a member's name should be"},
		{`{'a': 1}`, `line 1, column 2: unexpected '\'' where a member's name should be`},
		{"{“a”: 1}", "line 1, column 2: unexpected '“' where a member's name should be"},
		{"[\xff]", "line 1, column 2: unexpected byte 0xff where a value should be"},
		{"[\x00]", `line 1, column 2: unexpected '\x00' where a value should be`},
		{"nul", "line 1, column 4: the document ends in the word null"},
		{"[nulL]", "line 1, column 5: unexpected 'L' in the word null"},
		{"tru ", "line 1, column 4: unexpected ' ' in the word true"},
		{"fals", "line 1, column 5: the document ends in the word false"},
		{"True", "line 1, column 1: unexpected 'T' where a value should be"},
		{"NaN", "line 1, column 1: unexpected 'N' where a value should be"},
		{"01", "line 1, column 2: text after the end of the document"},
		{"-", "line 1, column 2: the document ends in a number"},
		{"[1.]", "line 1, column 4: unexpected ']' in a number"},
		{"[1e+]", "line 1, column 5: unexpected ']' in a number"},
		{"+1", "line 1, column 1: unexpected '+' where a value should be"},
		{".5", "line 1, column 1: unexpected '.' where a value should be"},
		{"0x10", "line 1, column 2: text after the end of the document"},
		{`"abc`, "line 1, column 5: the document ends inside a string"},
		{`"abcdefgh`, "line 1, column 10: the document ends inside a string"},
		{"\"a\nb\"", `line 1, column 3: unexpected '\n' inside a string`},
		{"\"12345678\t\"", `line 1, column 10: unexpected '\t' inside a string`},
		{`"\x"`, "line 1, column 3: unexpected 'x' after a backslash"},
		{`"a\`, "line 1, column 4: the document ends after a backslash"},
		{`"\u12g4"`, `line 1, column 6: unexpected 'g' in a \u escape`},
		{`"\u12`, `line 1, column 6: the document ends in a \u escape`},
		{"{}x", "line 1, column 3: text after the end of the document"},
		{"{}\n{}\n", "line 2, column 1: text after the end of the document"},
		{"// a comment\n{}", "line 1, column 1: unexpected '/' where a value should be"},
		{"<<<<<<< HEAD\n{}", "line 1, column 1: unexpected '<' where a value should be"},
	} {
		_, err := jsontree.Parse([]byte(c.text))
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: %v\nshould be %s", c.text, err, c.want)
		}
		if jsontree.Valid([]byte(c.text)) {
			t.Errorf("%q is said to be valid", c.text)
		}
	}
}

func TestASyntaxErrorPointsAtTheByte(t *testing.T) {
	_, err := jsontree.Parse([]byte("[1,\n  é]"))
	var syntax *jsontree.SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("%v is not a syntax error", err)
	}
	want := jsontree.SyntaxError{Offset: 6, Line: 2, Column: 3, Problem: "unexpected 'é' where a value should be"}
	if *syntax != want {
		t.Errorf("%+v, should be %+v", *syntax, want)
	}
}

func TestDocumentsNestToALimit(t *testing.T) {
	for _, c := range []struct {
		depth int
		ok    bool
	}{{999, true}, {1000, true}, {1001, false}, {10_000, false}, {10_000_000, false}} {
		arrays := strings.Repeat("[", c.depth) + strings.Repeat("]", c.depth)
		if got := jsontree.Valid([]byte(arrays)); got != c.ok {
			t.Errorf("%d arrays: %v", c.depth, got)
		}
	}
	for depth, ok := range map[int]bool{1000: true, 1001: false, 10_000: false} {
		objects := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
		if got := jsontree.Valid([]byte(objects)); got != ok {
			t.Errorf("%d objects: %v", depth, got)
		}
	}
	_, err := jsontree.Parse([]byte(strings.Repeat("[", 1001)))
	if want := "line 1, column 1001: nested deeper than 1000 levels"; err == nil || err.Error() != want {
		t.Errorf("%v, should be %s", err, want)
	}
}

// The test takes encoding/json as the reference for what is valid JSON.
func TestParseAgreesWithTheStandardLibraryOnDamagedDocuments(t *testing.T) {
	var seeds []string
	for _, text := range oddLayouts {
		seeds = append(seeds, strings.TrimPrefix(text, "\xef\xbb\xbf"))
	}
	damage := rapid.SliceOfN(rapid.SampledFrom([]byte("{}[],:\"\\ \n\t\r\x00\x1f/0159-+.eEtrufalsn\xc3\xa9\xff'")), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.SampledFrom(seeds).Draw(t, "document"))
		for range 20 {
			from := rapid.IntRange(0, len(text)).Draw(t, "from")
			to := rapid.IntRange(from, min(from+3, len(text))).Draw(t, "to")
			broken := string(text[:from]) + string(damage.Draw(t, "damage")) + string(text[to:])
			if got, want := jsontree.Valid([]byte(broken)), json.Valid([]byte(broken)); got != want {
				t.Fatalf("%q: we say %v, encoding/json %v", broken, got, want)
			}
		}
	})
}
