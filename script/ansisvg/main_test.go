package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
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

func TestAnAnimationDrawsACommonRowOnceAndShowsEachFrameForItsTime(t *testing.T) {
	dir := t.TempDir()
	var arguments []string
	for i, text := range []string{"$ ls\n", "$ ls\nfirst\n", "$ ls\nsecond\n"} {
		file := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, []string{"1s", "2s", "1s"}[i]+"="+file)
	}
	var b strings.Builder
	if err := animate(arguments, &b, "t", 40); err != nil {
		t.Fatal(err)
	}
	for text, times := range map[string]int{
		">$ ls</text>": 1, "@keyframes s1-2{0%{visibility:hidden}25.000%{visibility:visible}75.000%{visibility:hidden}}": 1,
		".s2-3{animation:s2-3 4.00s step-end infinite}": 1, `<g class="s1-2" visibility="hidden">`: 1, `<g class="s2-3">`: 1,
	} {
		if n := strings.Count(b.String(), text); n != times {
			t.Errorf("%q is there %d times, want %d, in\n%s", text, n, times, b.String())
		}
	}
	if err := animate([]string{"soon=x"}, &b, "t", 40); err == nil {
		t.Error("a frame without a duration is accepted")
	}
}
