package jsontree_test

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile/jsontree"
)

func value(t testing.TB, text string) jsontree.Value {
	t.Helper()
	return parse(t, text).Value()
}

func TestAMissingValueAcceptsEveryMethod(t *testing.T) {
	var v jsontree.Value
	if v.Kind() != jsontree.Missing || !v.Absent() || v.Raw() != nil || v.Text() != "" || v.String() != "" || v.Len() != 0 || jsontree.Interface(v) != nil {
		t.Errorf("a missing value is not empty: %#v", v)
	}
	for range v.Members() {
		t.Error("it has a member")
	}
	for range v.Items() {
		t.Error("it has an item")
	}
	if v.Get("a").Get("b").Kind() != jsontree.Missing {
		t.Error("something is found below it")
	}
	if text, err := json.Marshal(v); err != nil || string(text) != "null" {
		t.Errorf("it is written as %s (%v)", text, err)
	}
	if jsontree.Missing.String() != "nothing" {
		t.Errorf("its kind reads %q", jsontree.Missing)
	}
}

func TestValuesAreOfTheirKind(t *testing.T) {
	for text, want := range map[string]string{
		"null": "null", "true": "a boolean", "false": "a boolean", "-1": "a number", "0": "a number",
		`""`: "a string", "[]": "an array", "{}": "an object",
	} {
		v := value(t, text)
		if got := v.Kind().String(); got != want {
			t.Errorf("%s is %s", text, got)
		}
		if v.Absent() != (text == "null") {
			t.Errorf("%s: absent is %v", text, v.Absent())
		}
	}
}

func TestIntTakesWholeNumbersOf64Bits(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "-1": -1, "9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64,
	} {
		if got, ok := value(t, text).Int(); !ok || got != want {
			t.Errorf("%s is %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"9223372036854775808", "1.0", "1e3", "-0.0", `"1"`, "true", "null", "[1]", "1e999"} {
		if got, ok := value(t, text).Int(); ok || got != 0 {
			t.Errorf("%s is taken as %d", text, got)
		}
	}
}

func TestFloatTakesWhatAFloatCanHold(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "1.50": 1.5, "1E5": 1e5, "-1e-7": -1e-7, "1e-999": 0, "123456789012345678901234567890": 1.2345678901234568e29,
	} {
		if got, ok := value(t, text).Float(); !ok || got != want {
			t.Errorf("%s is %g, %v", text, got, ok)
		}
	}
	if got, ok := value(t, "-0").Float(); !ok || !math.Signbit(got) {
		t.Errorf("-0 is %g, %v", got, ok)
	}
	for _, text := range []string{"1e999", "-1e999", `"1"`, "null", "{}"} {
		if got, ok := value(t, text).Float(); ok || got != 0 {
			t.Errorf("%s is taken as %g", text, got)
		}
	}
}

func TestBoolTakesOnlyBooleans(t *testing.T) {
	for text, want := range map[string][2]bool{
		"true": {true, true}, "false": {false, true}, "null": {}, `"true"`: {}, "1": {}, "[]": {},
	} {
		got, ok := value(t, text).Bool()
		if [2]bool{got, ok} != want {
			t.Errorf("%s is %v, %v", text, got, ok)
		}
	}
}

func TestStringsAreDecodedAsTheStandardLibraryDoes(t *testing.T) {
	for _, text := range []string{
		`""`, `"a"`, `"\u0061\u00e9\/\b\f\n\r\t\"\\"`, `"\ud83d\ude00"`, `"\ud800"`, `"\udc00\ud800x"`, "\"\xff\xc3\"", "\"é\"", `"\u0000"`, `"\\\\\""`,
	} {
		var want string
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		v := value(t, text)
		if got, ok := v.Str(); !ok || got != want || v.Text() != want || v.String() != want {
			t.Errorf("%s is %q, %v, should be %q", text, got, ok, want)
		}
	}
	if got, ok := value(t, "1").Str(); ok || got != "" {
		t.Errorf("1 is the string %q", got)
	}
	if got := value(t, " [ 1 ] ").String(); got != "[ 1 ]" {
		t.Errorf("an array reads %q", got)
	}
}

func TestMembersAreFoundByName(t *testing.T) {
	v := value(t, "{\"a\" : 1, \"\\u0062\": 2 , \"a\": {\"a\": 3}, \"\": 4, \"c\\\\d\": 5, \"e\\\"}\": \"{\\\"a\\\": 6}\"\t}")
	for name, want := range map[string]string{
		"a": `{"a": 3}`, "b": "2", "": "4", `c\d`: "5", `e"}`: `{"a": 6}`,
		"A": "", `\u0062`: "", `c\\d`: "", "x": "",
	} {
		if got := v.Get(name).String(); got != want {
			t.Errorf("%q is %s, should be %s", name, got, want)
		}
	}
	var names []string
	for name := range v.Members() {
		names = append(names, name)
	}
	if want := []string{"a", "b", "a", "", `c\d`, `e"}`}; !slices.Equal(names, want) {
		t.Errorf("the names are %q, should be %q", names, want)
	}
	if v.Len() != 6 {
		t.Errorf("there are %d members", v.Len())
	}
}

func TestWalkingStopsWhenAsked(t *testing.T) {
	doc := parse(t, `{"a": [1, 2, 3], "b": 2}`)
	seen := 0
	for range doc.Value().Get("a").Items() {
		seen++
		break
	}
	for range doc.Value().Members() {
		seen++
		break
	}
	for range doc.Root().Child("a").Items() {
		seen++
		break
	}
	for range doc.Root().Members() {
		seen++
		break
	}
	if seen != 4 {
		t.Errorf("saw %d parts, should be 4", seen)
	}
}

func TestInterfaceIsWhatTheStandardLibraryDecodes(t *testing.T) {
	for name, text := range oddLayouts {
		if got, want := jsontree.Interface(value(t, text)), decoded(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s", name, cmp.Diff(want, got))
		}
	}
}
