package worddiff

import (
	"strings"
	"testing"
)

func TestChangedWordsAreMarked(t *testing.T) {
	t.Parallel()
	show := func(list []Piece) string {
		var b strings.Builder
		for _, p := range list {
			if p.Changed {
				b.WriteString("[" + p.Text + "]")
			} else {
				b.WriteString(p.Text)
			}
		}
		return b.String()
	}
	for _, c := range []struct{ before, after, olds, news string }{
		{`"/healthz": health, // old`, `"/health": health, // new`, `"/[healthz]": health, // [old]`, `"/[health]": health, // [new]`},
		{"a b", "a b c", "a b", "a b[ c]"},
		{"日本 x_1", "日本 x_2", "日本 [x_1]", "日本 [x_2]"},
		{"return 404", "if ready {", "return 404", "if ready {"}, // nothing in common: no words are marked
		{strings.Repeat("a ", 300), strings.Repeat("b ", 300), strings.Repeat("a ", 300), strings.Repeat("b ", 300)},
		{"", "x", "", "[x]"},
	} {
		olds, news := Compare(c.before, c.after)
		if show(olds) != c.olds || show(news) != c.news {
			t.Errorf("%q → %q: %q %q", c.before, c.after, show(olds), show(news))
		}
	}
}
