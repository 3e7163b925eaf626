package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestALineIsSplitWhereItsLookChanges(t *testing.T) {
	row, end := parse("a\x1b[1;32m日本\x1b[0m<b>\x1b[7m", look{})
	want := []piece{{"a", 1, look{}}, {"日本", 4, look{bold: true, color: 32}}, {"<b>", 3, look{}}}
	if !reflect.DeepEqual(row, want) || !end.reverse {
		t.Errorf("%+v, %+v", row, end)
	}
}

func TestAPictureHasTheTextAndItsColours(t *testing.T) {
	var b strings.Builder
	if err := convert(strings.NewReader("\x1b[31m✗ <failed>\x1b[0m\n\x1b[7m▸ it & that\n"), &b, `a "title"`, 40); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`✗ &lt;failed&gt;</text>`, `style="fill:#ff6b6b"`, `▸ it &amp; that`, `a &quot;title&quot;`, `fill="#d6deeb"/>`} {
		if !strings.Contains(b.String(), text) {
			t.Errorf("no %s in\n%s", text, b.String())
		}
	}
}
