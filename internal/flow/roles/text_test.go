package roles

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestUntrustedTextIsMadePrintable(t *testing.T) {
	for text, want := range map[string]string{
		"a\r\nb\rc":                       "a\nb\nc",
		"\n\n  a\tb \n\n":                 "  a\tb",
		"a\x1b[31mred\x00\x07":            "a[31mred",
		"a\u2028b\u0085c\vd":              "a\nb\ncd",
		"\u202Eabc\u2069\u200B\U000E0041": "abc",
		"ä\xffö":                          "ä\uFFFDö",
		"x" + strings.Repeat("`", 99):     "x" + strings.Repeat("`", maxTicks),
		"می\u200cخواهم":                   "می\u200cخواهم",
		"\x00\n\t ":                       "",
	} {
		if got := clean(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestATextCannotCloseItsFence(t *testing.T) {
	for text, ticks := range map[string]int{"a": 4, "```\n": 4, "a ```` b": 5, strings.Repeat("`", 1000): maxTicks + 1} {
		got := fencedText(text, 5000, none)
		if mark := strings.Repeat("`", ticks); !strings.HasPrefix(got, mark+"text\n") || !strings.HasSuffix(got, "\n"+mark) || strings.Count(got, mark) != 2 {
			t.Errorf("%.20q is %s", text, got)
		}
	}
	if got := fencedText(" \x00\n", 100, none); got != none {
		t.Errorf("nothing is %q", got)
	}
}

func TestTheMiddleOfALongTextIsLeftOutAtRunes(t *testing.T) {
	text := "BEGIN" + strings.Repeat("ä€😀", 1000) + "END"
	for most := 200; most < 240; most++ {
		got := dropMiddle(text, most)
		var left int
		at := strings.Index(got, "\n[… ")
		if _, err := fmt.Sscanf(got[max(at, 0):], "\n[… %d bytes", &left); err != nil {
			t.Fatalf("%d: %v in %q", most, err, got)
		}
		head, tail, _ := strings.Cut(got, fmt.Sprintf("\n[… %d bytes are left out here …]\n", left))
		if !utf8.ValidString(got) || len(got) > most || len(head)+left+len(tail) != len(text) ||
			!strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || len(head) < most/3 || !strings.HasSuffix(tail, "END") {
			t.Fatalf("%d: %q", most, got)
		}
	}
	if got := dropMiddle("as it is", 8); got != "as it is" {
		t.Errorf("%q", got)
	}
}

func TestALongListIsCutInItsItemsFirstAndThenAtItsEnd(t *testing.T) {
	long := strings.Repeat("x", 3000)
	got := joinShortened([]string{"a: " + long, "b: short", "c: " + long}, 2000)
	if len(got) > 2000 || !strings.Contains(got, "\nb: short\n") || strings.Count(got, "left out here") != 2 {
		t.Errorf("%q", got)
	}
	many := make([]string, 500)
	for i := range many {
		many[i] = fmt.Sprintf("file-%03d.go", i)
	}
	got = joinShortened(many, 1000)
	shown := strings.Count(got, "file-")
	if len(got) > 1000 || shown < 50 || !strings.HasSuffix(got, fmt.Sprintf("\n… and %d more", 500-shown)) {
		t.Errorf("%d shown: %q", shown, got)
	}
	if got := joinShortened([]string{"a", " \n", "b"}, 3); got != "a\nb" {
		t.Errorf("%q", got)
	}
}

func TestANameStaysInItsLineAndItsBackquotes(t *testing.T) {
	for text, want := range map[string]string{
		"JWT System":                       "`JWT System`",
		"a`b``\n# Do\tthis":                "`a'b'' # Do this`",
		" \x1b ":                           "`none`",
		strings.Repeat("ä", 1000) + "\n#x": "`" + strings.Repeat("ä", maxName/2) + "…`",
	} {
		if got := inlineCode(text); got != want {
			t.Errorf("%.40q: %s, want %s", text, got, want)
		}
	}
}
