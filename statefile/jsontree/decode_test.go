package jsontree_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile/jsontree"
)

// id decodes itself from a number or a string.
type id string

func (i *id) DecodeJSON(v jsontree.Value) error {
	if n, ok := v.Int(); ok {
		*i = id(strconv.FormatInt(n, 10))
		return nil
	}
	s, ok := v.Str()
	if !ok {
		return errors.New("a number or a string")
	}
	*i = id(s)
	return nil
}

type status string

type sample struct {
	ID       id                `json:"id"`
	Name     string            `json:"name,omitempty"`
	Status   status            `json:"status"`
	Count    int               `json:"count"`
	Large    int64             `json:"large"`
	Seconds  float64           `json:"seconds"`
	Done     bool              `json:"done"`
	Exit     *int              `json:"exit_code"`
	Parent   *sample           `json:"parent"`
	Other    *id               `json:"other"`
	Inner    inner             `json:"inner"`
	Tags     []string          `json:"tags"`
	Children []sample          `json:"children"`
	Pointers []*int            `json:"pointers"`
	ByName   map[string]inner  `json:"by_name"`
	Words    map[status]string `json:"words"`
	Any      jsontree.Value    `json:"any"`
	Anything []jsontree.Value  `json:"anything"`
	Skipped  string            `json:"-"`
	NoTag    string
}

type inner struct {
	A int `json:"a"`
}

func decode(t testing.TB, text string) (sample, []string) {
	t.Helper()
	var s sample
	var found []string
	for _, m := range jsontree.Decode(value(t, text), &s) {
		found = append(found, m.String())
	}
	return s, found
}

func TestDecodeReadsEveryForm(t *testing.T) {
	got, found := decode(t, `{
		"id": 7, "name": "n\u00e9", "status": "running", "count": -1, "large": 9223372036854775807,
		"seconds": 1.5, "done": true, "exit_code": 0, "parent": {"id": "p"}, "other": 8, "inner": {"a": 1},
		"tags": ["x", "y"], "children": [{"id": "c", "children": []}], "pointers": [1, null],
		"by_name": {"k": {"a": 2}}, "words": {"w": "v"}, "any": [1], "anything": [null, 2], "-": "no",
		"Skipped": "no", "NoTag": "no", "unknown": {}
	}`)
	zero, one, other := 0, 1, id("8")
	want := sample{
		ID: "7", Name: "né", Status: "running", Count: -1, Large: 9223372036854775807,
		Seconds: 1.5, Done: true, Exit: &zero, Parent: &sample{ID: "p"}, Other: &other, Inner: inner{1},
		Tags: []string{"x", "y"}, Children: []sample{{ID: "c", Children: []sample{}}}, Pointers: []*int{&one, nil},
		ByName: map[string]inner{"k": {2}}, Words: map[status]string{"w": "v"},
		Any: value(t, "[1]"), Anything: []jsontree.Value{value(t, "null"), value(t, "2")},
	}
	if diff := cmp.Diff(want, got, cmp.Transformer("text", jsontree.Value.String)); diff != "" {
		t.Errorf("not as it should be (-want +got):\n%s", diff)
	}
	if len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

func TestNullAndMissingLeaveAFieldZero(t *testing.T) {
	for _, text := range []string{
		`{}`, `null`,
		`{"id": null, "name": null, "count": null, "exit_code": null, "parent": null, "inner": null, "tags": null, "by_name": null, "done": null}`,
	} {
		got, found := decode(t, text)
		if diff := cmp.Diff(sample{}, got, cmp.Transformer("text", jsontree.Value.String)); diff != "" || len(found) > 0 {
			t.Errorf("%s: %s, found %q", text, diff, found)
		}
	}
}

func TestDecodeReportsMismatchesAndReadsTheRest(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{`[]`, []string{`document: [] where an object should be`}},
		{`"x"`, []string{`document: "x" where an object should be`}},
		{`{"name": 1}`, []string{`name: 1 where a string should be`}},
		{`{"status": ["a"]}`, []string{`status: ["a"] where a string should be`}},
		{`{"count": "3"}`, []string{`count: "3" where a whole number should be`}},
		{`{"count": 1.0, "large": 9223372036854775808}`, []string{`count: 1.0 where a whole number should be`, `large: 9223372036854775808 where a whole number should be`}},
		{`{"seconds": 1e999}`, []string{`seconds: 1e999 where a number should be`}},
		{`{"done": "yes"}`, []string{`done: "yes" where true or false should be`}},
		{`{"exit_code": "0"}`, []string{`exit_code: "0" where a whole number should be`}},
		{`{"id": {}}`, []string{`id: {} where a number or a string should be`}},
		{`{"other": true}`, []string{`other: true where a number or a string should be`}},
		{`{"inner": 5}`, []string{`inner: 5 where an object should be`}},
		{`{"inner": {"a": "x"}}`, []string{`inner.a: "x" where a whole number should be`}},
		{`{"parent": "p"}`, []string{`parent: "p" where an object should be`}},
		{`{"parent": {"count": "x"}}`, []string{`parent.count: "x" where a whole number should be`}},
		{`{"tags": {"a": 1}}`, []string{`tags: {"a": 1} where an array should be`}},
		{`{"tags": ["a", 2, null, "b"]}`, []string{`tags[1]: 2 where a string should be`, `tags[2]: null where an item should be`}},
		{`{"children": [{}, [], {"children": [{"inner": {"a": []}}]}]}`, []string{
			`children[1]: [] where an object should be`, `children[2].children[0].inner.a: [] where a whole number should be`,
		}},
		{`{"pointers": [null, "x"]}`, []string{`pointers[1]: "x" where a whole number should be`}},
		{`{"by_name": []}`, []string{`by_name: [] where an object should be`}},
		{`{"by_name": {"k": {"a": null}, "l": 1, "m.n": {"a": ""}}}`, []string{
			`by_name.l: 1 where an object should be`, `by_name.m.n.a: "" where a whole number should be`,
		}},
		{"{\"name\": {\n    \"first\": \"x\",\n    \"second\": \"y\"\n  }}", []string{`name: { "first": "x", "second": "y" } where a string should be`}},
	} {
		got, found := decode(t, strings.Replace(c.text, "{", `{"words": {"read": "yes"}, `, 1))
		if strings.HasPrefix(c.text, `{"`) {
			if got.Words["read"] != "yes" {
				t.Errorf("%s: the rest was not read", c.text)
			}
		} else {
			_, found = decode(t, c.text)
		}
		if diff := cmp.Diff(c.want, found); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestAFieldOfTheWrongFormStaysZero(t *testing.T) {
	got, _ := decode(t, `{"name": 1, "count": "3", "large": 9223372036854775808, "seconds": 1e999, "exit_code": "0", "parent": [], "other": {}, "tags": ["a", 2], "by_name": {"k": 1}}`)
	want := sample{Tags: []string{"a", ""}, ByName: map[string]inner{"k": {}}}
	if diff := cmp.Diff(want, got, cmp.Transformer("text", jsontree.Value.String)); diff != "" {
		t.Errorf("not as it should be (-want +got):\n%s", diff)
	}
}

func TestAMismatchIsShortAndOnOneLine(t *testing.T) {
	for _, text := range []string{
		fmt.Sprintf("%q", strings.Repeat("é", 1000)),
		fmt.Sprintf("%q", strings.Repeat("🙂", 40)),
		"[" + strings.Repeat("\n  1,", 1000) + "2]",
		"[" + strings.Repeat(" ", 1000) + "]",
		"\"" + strings.Repeat("\xff", 100) + "\"",
	} {
		_, found := decode(t, `{"count": `+text+`}`)
		if len(found) != 1 || strings.Contains(found[0], "\n") || len([]rune(found[0])) > 90 || !strings.Contains(found[0], "… where") {
			t.Errorf("found %q", found)
		}
	}
}

func TestUnknownListsTheMembersWithoutAField(t *testing.T) {
	v := value(t, `{"a": 1, "b": 2, "\u0063": 3, "b": 4, "A": 5}`)
	for _, into := range []any{inner{}, &inner{}} {
		if diff := cmp.Diff([]string{"b", "c", "b", "A"}, jsontree.Unknown(v, into)); diff != "" {
			t.Error(diff)
		}
	}
	if got := jsontree.Unknown(value(t, `[1]`), inner{}); got != nil {
		t.Errorf("an array has unknown members: %q", got)
	}
}

func TestDecodingIntoAnUnsupportedTypePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a channel was read")
		}
	}()
	jsontree.Decode(value(t, `{"c": 1}`), &struct {
		C chan int `json:"c"`
	}{})
}
