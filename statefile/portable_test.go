package statefile_test

import (
	"strings"
	"testing"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

func TestUnportableJSONIsReported(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1, "b": [{"a": 2}], "t": "ä 𝄞 \u00e4 \ud834\udd1e \\ud834 \" "}`: "",
		"\ufeff{}":                                "invalid : byte-order-mark",
		"{\n \"a\": \"x\xffy\"}":                  "invalid : not-utf8 line 2, column 9: the byte 0xff is not UTF-8",
		`{"a": 1, "a": 2}`:                        "invalid a: duplicate-member",
		`{"a": 1, "\u0061": 1}`:                   "invalid a: duplicate-member",
		`{"l": [{}, {"x": {"b": 1, "b": 1}}]}`:    "invalid l[1].x.b: duplicate-member",
		`[{"a": 1e400}, -1e400]`:                  "invalid [0].a: number-out-of-range, invalid [1]: number-out-of-range",
		`{"a": 1e308, "b": 99999999999999999999}`: "",
		`{"a": "\ud834", "b": "\udd1e\ud834"}`:    "invalid a: lone-surrogate, invalid b: lone-surrogate",
		`{"a": "\uD834x\uDD1E"}`:                  "invalid a: lone-surrogate",
	} {
		doc, err := jsontree.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var got []string
		for _, f := range statefile.CheckPortable("x.json", doc) {
			line := string(f.Severity) + " " + f.At + ": " + f.Name
			if f.Name == "not-utf8" {
				line += " " + f.Text
			}
			got = append(got, line)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTheNumberOfPortabilityFindingsIsLimited(t *testing.T) {
	doc, err := jsontree.Parse([]byte("[1" + strings.Repeat(",1e999", 100_000) + "]"))
	if err != nil {
		t.Fatal(err)
	}
	if found := statefile.CheckPortable("x.json", doc); len(found) != 100 {
		t.Errorf("%d findings, want 100", len(found))
	}
}
